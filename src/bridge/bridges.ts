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
  #applying: Promise<void> = Promise.resolve();

  constructor(services: BridgeServices) {
    this.#services = services;
    readMosquittosAnswers();
  }

  /**
   * Starts, stops and changes bridges until they are as configured; the others are not touched. The
   * queue of one that is changed stays; that of one that is no more goes, with what it holds.
   */
  apply(configured: readonly BridgeOptions[]): Promise<void> {
    this.#applying = this.#applying.then(() => this.#apply(configured));
    return this.#applying;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#bridges.values()].map((bridge) => bridge.stop()));
  }

  async statuses(): Promise<BridgeStatus[]> {
    return Promise.all([...this.#bridges.values()].map((bridge) => bridge.status()));
  }

  has(name: string): boolean {
    return this.#bridges.has(name);
  }

  async #apply(configured: readonly BridgeOptions[]): Promise<void> {
    const before = this.#bridges;
    const next = new Map<string, Bridge>();
    const stale: Bridge[] = [];
    const fresh: Bridge[] = [];
    for (const options of configured) {
      const present = before.get(options.name);
      const isSame = present !== undefined && isDeepStrictEqual(present.options, options);
      const bridge = isSame ? present : new Bridge(options, this.#services);
      next.set(options.name, bridge);
      if (!isSame) fresh.push(bridge);
      if (!isSame && present !== undefined) stale.push(present);
    }
    const removed = [...before.values()].filter(({ options }) => !next.has(options.name));
    this.#bridges = next;
    await Promise.all([...stale, ...removed].map((bridge) => bridge.stop()));
    await Promise.all(removed.map(({ options }) => this.#forget(options.name)));
    await Promise.all(fresh.map((bridge) => bridge.start()));
  }

  async #forget(name: string): Promise<void> {
    const { sessions, forwarder, setAside, log } = this.#services;
    log.warn({ bridge: name }, 'bridge removed, with what it had queued');
    try {
      await discardQueue(sessions, name);
      await setAside.clear(name);
      await forwarder.forget(bridgeStatusTopic(name));
    } catch (error) {
      log.warn({ err: error, bridge: name }, 'removed bridge not tidied up');
    }
  }
}
