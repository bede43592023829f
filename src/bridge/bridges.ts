import { isDeepStrictEqual } from 'node:util';
import { bridgeStatusTopic } from '../domain/topics.js';
import type { BridgeList, BridgeStatus } from '../site/bridge-list.js';
import { readMosquittosAnswers } from './answers.js';
import type { BridgeServices } from './bridge.js';
import { Bridge } from './bridge.js';
import type { BridgeOptions } from './bridge-options.js';
import { discardQueue } from './bridge-queue.js';

/** All bridges, as the configuration has them. */
export class Bridges implements BridgeList {
  readonly #services: BridgeServices;
  #bridges: ReadonlyMap<string, Bridge> = new Map();
  /** Those that are not stopped, also while they are not shown yet or no more. */
  readonly #running = new Set<Bridge>();
  #applying: Promise<void> = Promise.resolve();
  #mayConnect = false;
  #isStopped = false;

  constructor(services: BridgeServices) {
    this.#services = services;
    readMosquittosAnswers();
  }

  /**
   * Starts, stops and changes bridges until they are as configured; the others are not touched. The
   * queue of one that is changed stays; that of one that is no more goes, with what it holds.
   */
  apply(configured: readonly BridgeOptions[]): Promise<void> {
    const applying = this.#applying.then(() => this.#apply(configured));
    // A failure is told to whoever asked for this change, and does not prevent the next.
    this.#applying = applying.catch(() => undefined);
    return applying;
  }

  /** Until then the bridges collect what they are owed, and no upstream hears of this gateway. */
  connect(): void {
    this.#mayConnect = true;
    for (const bridge of this.#bridges.values()) bridge.connect();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#running].map((bridge) => this.#stop(bridge)));
  }

  async statuses(): Promise<BridgeStatus[]> {
    return Promise.all([...this.#bridges.values()].map((bridge) => bridge.status()));
  }

  has(name: string): boolean {
    return this.#bridges.has(name);
  }

  async #apply(configured: readonly BridgeOptions[]): Promise<void> {
    const next = new Map<string, Bridge>();
    for (const options of configured) {
      const present = this.#bridges.get(options.name);
      const isSame = present !== undefined && isDeepStrictEqual(present.options, options);
      next.set(options.name, isSame ? present : new Bridge(options, this.#services));
    }
    const stale = [...this.#bridges.values()].filter((one) => next.get(one.options.name) !== one);
    await Promise.all(stale.map((bridge) => this.#stop(bridge)));
    if (this.#isStopped) return;
    const removed = stale.filter(({ options }) => !next.has(options.name));
    const before = this.#bridges;
    this.#bridges = next;
    await Promise.all(removed.map((bridge) => this.#forget(bridge)));
    const fresh = [...next.values()].filter((one) => before.get(one.options.name) !== one);
    await Promise.all(fresh.map((bridge) => this.#start(bridge, before.has(bridge.options.name))));
  }

  async #start(bridge: Bridge, isChanged: boolean): Promise<void> {
    if (this.#isStopped) return;
    this.#running.add(bridge);
    await bridge.start();
    const { name } = bridge.options;
    this.#services.log.info({ bridge: name }, isChanged ? 'bridge changed' : 'bridge added');
    if (this.#mayConnect) bridge.connect();
  }

  async #stop(bridge: Bridge): Promise<void> {
    await bridge.stop();
    this.#running.delete(bridge);
  }

  async #forget({ options: { name }, queued }: Bridge): Promise<void> {
    const { sessions, forwarder, deadLetters, log } = this.#services;
    log.warn({ bridge: name, discarded: queued }, 'bridge removed, with what it had queued');
    try {
      await discardQueue(sessions, name);
      await deadLetters.clear(name);
      await forwarder.forget(bridgeStatusTopic(name));
    } catch (error) {
      log.warn({ err: error, bridge: name }, 'removed bridge not tidied up');
    }
  }
}
