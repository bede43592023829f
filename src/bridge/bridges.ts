/** The bridges of the configuration, and the queues of bridges missing from it. */
import { isDeepStrictEqual } from 'node:util';
import type { DeliveryParts } from '../delivery/open.js';
import { outletName, outletOwner, ownerKeyOf } from '../delivery/outlet.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import { type BridgeOptions, missingBridge } from '../domain/bridge-schema.js';
import { bridgeStatusTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { Installation } from '../files.js';
import type { Foundation } from '../foundation.js';
import { inTurn } from '../releasers.js';
import type { Actor } from '../site/audit-trail.js';
import type { Bridge, BridgeServices, BridgeStatus } from './bridge.js';
import type { CommandSink } from './inbound.js';

const FORGOTTEN_CHECK_MS = 10_000;

/** A bridge as the owner of its queue. */
export function bridgeOwner(options: BridgeOptions): SessionOwner {
  // Its filters alone select what it gets.
  return outletOwner('bridge', options, () => true, options.isMissing !== true);
}

/** Opens the queues of the bridges; nothing connects yet. */
export async function openBridges(
  foundation: Foundation,
  { audit, deadLetters }: Pick<BridgeServices, 'audit' | 'deadLetters'>,
  delivery: DeliveryParts,
  commands: CommandSink,
  installation: Installation,
): Promise<Bridges> {
  const { config, log, releasers } = foundation;
  const services = { ...foundation, ...delivery, audit, deadLetters, commands, installation };
  const bridges = new Bridges(services);
  releasers.add(() => bridges.stop());
  await bridges.apply(config.bridges);
  releasers.every(FORGOTTEN_CHECK_MS, () => {
    bridges.apply().catch((err: unknown) => log.warn({ err }, 'failed to look after bridges'));
  });
  return bridges;
}

export class Bridges {
  readonly #services: BridgeServices;
  #configured: readonly BridgeOptions[] = [];
  #bridges: ReadonlyMap<string, Bridge> = new Map();
  /** Bridges that are not stopped, including those not yet or no longer listed. */
  readonly #running = new Set<Bridge>();
  readonly #inTurn = inTurn();
  #mayConnect = false;
  #isStopped = false;

  constructor(services: BridgeServices) {
    this.#services = services;
  }

  /**
   * Starts, stops and replaces bridges that differ from the configuration.
   * A replaced bridge keeps its queue, and so does a removed one: a typing error must not discard it.
   *
   * @param configured omitted to give up missing bridges whose queues were discarded
   */
  apply(configured?: readonly BridgeOptions[]): Promise<void> {
    return this.#inTurn(() => this.#apply(configured));
  }

  /** Deletes the queue of a missing bridge. @throws GatewayError `bridge-configured` for any other */
  delete(actor: Actor, name: string): Promise<void> {
    const { audit, now, sessions } = this.#services;
    return this.#inTurn(async () => {
      if (!this.has(name)) throw new GatewayError('bridge-not-found', 'There is no such bridge.');
      if (this.#bridges.get(name)?.options.isMissing !== true) {
        throw new GatewayError('bridge-configured', 'The bridge is in the configuration.');
      }
      const deleted = { action: 'bridge.deleted', actor, atMs: now(), details: {} } as const;
      await audit.record([{ ...deleted, locationId: null, resourceId: name }]);
      await sessions.discardAllOf(ownerKeyOf('bridge', name));
      await this.#apply();
    });
  }

  /** Lets the bridges connect; until then they only queue. */
  connect(): void {
    this.#mayConnect = true;
    for (const bridge of this.#bridges.values()) bridge.connect();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#running].map((bridge) => this.#stop(bridge)));
  }

  /** In the order of the configuration, the missing ones last. */
  async statuses(): Promise<BridgeStatus[]> {
    return Promise.all([...this.#bridges.values()].map((bridge) => bridge.status()));
  }

  has(name: string): boolean {
    return this.#bridges.has(name);
  }

  async #apply(configured = this.#configured): Promise<void> {
    this.#configured = configured;
    const before = this.#bridges;
    const next = new Map<string, Bridge>();
    for (const options of [...configured, ...this.#missing(configured)]) {
      const present = before.get(options.name);
      const isSame = present !== undefined && isDeepStrictEqual(present.options, options);
      next.set(options.name, isSame ? present : await this.#create(options));
    }
    const stale = [...before.values()].filter((one) => next.get(one.options.name) !== one);
    await Promise.all(stale.map((bridge) => this.#stop(bridge)));
    if (this.#isStopped) return;
    this.#bridges = next;
    const removed = stale.filter(({ options }) => !next.has(options.name));
    await Promise.all(removed.map((bridge) => this.#forget(bridge)));
    const fresh = [...next.values()].filter((one) => before.get(one.options.name) !== one);
    await Promise.all(fresh.map((bridge) => this.#start(bridge, before.has(bridge.options.name))));
  }

  /** The bridges that have a queue but are not configured. */
  #missing(configured: readonly BridgeOptions[]): BridgeOptions[] {
    return this.#services.sessions
      .persistent()
      .flatMap(({ owner }) => outletName('bridge', owner.key) ?? [])
      .filter((name) => !configured.some((one) => one.name === name))
      .map((name) => ({
        ...(this.#bridges.get(name)?.options ?? missingBridge(name)),
        isMissing: true,
      }));
  }

  async #create(options: BridgeOptions): Promise<Bridge> {
    // Only now: mqtt.js is a tenth of what a gateway loads, and a gateway without bridges does not need it.
    const bridge = await import('./bridge.js');
    return new bridge.Bridge(options, bridgeOwner(options), this.#services);
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

  /** Cleans up after a missing bridge whose queue was discarded. */
  async #forget({ options: { name }, queued }: Bridge): Promise<void> {
    const { retained, deadLetters, log } = this.#services;
    log.warn({ bridge: name, discarded: queued }, 'missing bridge given up, queue discarded');
    retained.remove(bridgeStatusTopic(name));
    try {
      await deadLetters.clear(name);
    } catch (error) {
      log.warn({ err: error, bridge: name }, 'failed to clean up after a missing bridge');
    }
  }
}
