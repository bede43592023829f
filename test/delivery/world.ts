import { type CursorState, freshCursor } from '../../src/delivery/cursor-state.js';
import { Destination } from '../../src/delivery/destination.js';
import { LOG_NAMES, type LogEntry, type LogName } from '../../src/delivery/log-entry.js';
import { type KeepableLogs, LogKeeper } from '../../src/delivery/log-keeper.js';
import { LogTail } from '../../src/delivery/log-tail.js';
import type { OutgoingPublish, Receiver } from '../../src/delivery/receiver.js';
import { Router } from '../../src/delivery/router.js';
import { Subscriptions } from '../../src/delivery/subscriptions.js';
import { createLog } from '../../src/log.js';

export const silent = createLog({ level: 'silent', destination: { write: () => undefined } });

/** Logs that a test writes into. */
export interface TestLogs extends KeepableLogs {
  /** Its payload tells its sequence number: `{"n":…}`. */
  append(log: LogName, topic: string, receivedAtMs: number): Promise<LogEntry>;
  /** Resolves when everything that was asked before is answered, and has run on. */
  idle(): Promise<void>;
}

/** The logs as arrays: what the port promises and nothing else. */
export class ArrayLogs implements TestLogs {
  readonly #entries: Record<LogName, LogEntry[]> = { alarms: [], messages: [] };
  readonly #last: Record<LogName, number> = { alarms: 0, messages: 0 };
  /** How often entries were lost. */
  #losses = 0;

  /** As when a damaged append-only file was loaded: what comes behind this entry is gone. */
  lose(log: LogName, last: number): void {
    this.#entries[log] = this.#entries[log].filter(({ sequence }) => sequence <= last);
    this.#last[log] = last;
    this.#losses++;
  }

  async append(log: LogName, topic: string, receivedAtMs: number): Promise<LogEntry> {
    this.#last[log]++;
    const sequence = this.#last[log];
    const payload = Buffer.from(`{"n":${sequence},"losses":${this.#losses}}`);
    const audience = { locationId: null, groupId: null };
    const entry = { log, sequence, topic, payload, receivedAtMs, ...audience };
    this.#entries[log].push(entry);
    return Promise.resolve(entry);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  async read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    const behind = this.#entries[log].filter(({ sequence }) => sequence > afterSequence);
    return Promise.resolve(behind.slice(0, count));
  }

  async pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    return Promise.resolve(this.#entries[log].filter((one) => sequences.includes(one.sequence)));
  }

  async lastSequence(log: LogName): Promise<number> {
    return Promise.resolve(this.#last[log]);
  }

  async trim(log: LogName, upToSequence: number): Promise<void> {
    this.#entries[log] = this.#entries[log].filter(({ sequence }) => sequence > upToSequence);
    return Promise.resolve();
  }
}

/** A client's connection: what it was sent, and what it has not acknowledged. */
export class Connection implements Receiver {
  isWritable = true;
  readonly sent: OutgoingPublish[] = [];
  readonly unacknowledged: OutgoingPublish[] = [];

  send(publish: OutgoingPublish): void {
    this.sent.push(publish);
    if (publish.qos === 1) this.unacknowledged.push(publish);
  }
}

export type States = Record<LogName, CursorState>;

export const fresh: States = { alarms: freshCursor(0), messages: freshCursor(0) };

export interface PeerOptions {
  readonly name: string;
  readonly filters: readonly string[];
  /** As a bridge has it: new alarms go past the backlog of others. */
  readonly replayPerSecond?: number | undefined;
}

export interface WorldOptions {
  readonly logs: KeepableLogs;
  /** What the destinations read from; slower or more faulty than the keeper's. */
  readonly reader: Pick<KeepableLogs, 'read' | 'pick' | 'lastSequence'>;
  readonly peers: readonly PeerOptions[];
  readonly maxInFlight: number;
  readonly maxQueued: number;
  readonly maxAgeMs: number;
  readonly now: () => number;
  /** Where the destinations were when the process before ended. */
  readonly saved: ReadonlyMap<string, States>;
}

/** One life of the delivery: a router, its destinations and the keeper, begun as the gateway does. */
export class World {
  readonly router: Router;
  readonly keeper: LogKeeper;
  readonly destinations = new Map<string, Destination>();
  saved: ReadonlyMap<string, States>;

  private constructor(options: WorldOptions, last: Record<LogName, number>) {
    const { logs, reader, saved, now } = options;
    this.saved = saved;
    const tails = { alarms: new LogTail(last.alarms), messages: new LogTail(last.messages) };
    this.router = new Router({ tails, reader, log: silent });
    for (const peer of options.peers) this.#add(peer, options);
    const saveProgress = async () => this.save();
    const router = this.router;
    const storedSettled = () => 0;
    this.keeper = new LogKeeper({ logs, router, saveProgress, storedSettled, log: silent, now });
  }

  static async begin(options: WorldOptions): Promise<World> {
    const { logs } = options;
    const last = {
      alarms: await logs.lastSequence('alarms'),
      messages: await logs.lastSequence('messages'),
    };
    const world = new World(options, last);
    await world.keeper.recount();
    return world;
  }

  destination(name: string): Destination {
    const destination = this.destinations.get(name);
    if (destination === undefined) throw new Error(`no destination ${name}`);
    return destination;
  }

  /** What the store would hold of the destinations' progress. */
  async save(): Promise<void> {
    const states = [...this.destinations].map(([name, { cursors }]): [string, States] => [
      name,
      { alarms: cursors.alarms.state, messages: cursors.messages.state },
    ]);
    // As JSON, as the store has it.
    this.saved = new Map(JSON.parse(JSON.stringify(states)));
    return Promise.resolve();
  }

  /** From now on everything older must be read from the store. */
  forgetTails(): void {
    for (const log of LOG_NAMES) {
      const tail = this.router.tails[log];
      tail.restart(tail.last);
    }
  }

  #add({ name, filters, replayPerSecond }: PeerOptions, options: WorldOptions): void {
    const { reader, saved, maxInFlight, maxQueued, maxAgeMs, now } = options;
    const after = { alarms: 0, messages: 0 };
    const destination = new Destination({
      name,
      tails: this.router.tails,
      reader,
      cursors: saved.get(name) ?? fresh,
      subscriptions: new Subscriptions(
        filters.map((filter) => ({ filter, qos: 1 as const, after })),
      ),
      mayReceive: () => true,
      audienceKey: '',
      limits: { maxInFlight, maxQueued, maxAgeMs, replayPerSecond },
      now,
      onProgress: () => undefined,
      onConnection: () => this.router.connectionChanged(destination),
      onReadFailure: () => undefined,
    });
    this.destinations.set(name, destination);
    this.router.add(destination);
  }
}
