import { expect } from 'vitest';
import { LOG_NAMES, type LogEntry, type LogName } from '../../src/delivery/log-entry.js';
import { matchesFilter } from '../../src/domain/topics.js';
import { Connection, type PeerOptions, type TestLogs, World } from './world.js';

const MAX_QUEUED = 12;
/** Enough that nothing falls out of a schedule's backlog. */
const MAX_QUEUED_OF_BRIDGE = 500;
const MAX_IN_FLIGHT = 4;
const MAX_AGE_MS = 1_000;

export const PEERS: readonly PeerOptions[] = [
  { name: 'one', filters: ['both/#', 'one/#', 'both/+'] },
  { name: 'two', filters: ['both/#', 'two/#'] },
];

/** New alarms go past its backlog; as fast as it is acknowledged: time does not pass by itself here. */
export const BRIDGE: PeerOptions = {
  name: 'bridge',
  filters: ['both/#', 'one/#', 'two/#'],
  replayPerSecond: 1e9,
};

/** What one subscriber is owed of one log, and what it has seen of it: the model. */
class Ledger {
  readonly owed: number[] = [];
  readonly acknowledged = new Set<number>();
  readonly firstSent = new Set<number>();
  readonly newestSent = new Map<string, number>();
  /** By topic, which stands for a device. */
  readonly lastOnConnection = new Map<string, number>();

  owedUpTo(sequence: number): number[] {
    return this.owed.filter((one) => one <= sequence);
  }

  unseen(sequences: readonly number[]): number[] {
    return sequences.filter((one) => !this.acknowledged.has(one));
  }
}

/** A subscriber: its ledgers, and its connection while it has one. */
export class Peer {
  readonly ledgers: Record<LogName, Ledger> = { alarms: new Ledger(), messages: new Ledger() };
  connection: Connection | undefined;
  checked = 0;

  constructor(
    readonly name: string,
    readonly filters: readonly string[],
    readonly isPaced: boolean,
  ) {}

  isOwed(topic: string): boolean {
    return this.filters.some((filter) => matchesFilter(filter, topic));
  }
}

/** Reads that wait until the run lets them be answered, or fail. */
class GatedReader {
  readonly #logs: TestLogs;
  readonly #waiting: { answer: () => void; fail: () => void }[] = [];

  constructor(logs: TestLogs) {
    this.#logs = logs;
  }

  read(log: LogName, afterSequence: number, count: number): Promise<LogEntry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        // What is stored when it is answered, and small pages: more of what can go wrong.
        answer: () => resolve(this.#logs.read(log, afterSequence, Math.min(count, 5))),
        fail: () => reject(new Error('the store is away')),
      });
    });
  }

  pick(log: LogName, sequences: readonly number[]): Promise<LogEntry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        answer: () => resolve(this.#logs.pick(log, sequences)),
        fail: () => reject(new Error('the store is away')),
      });
    });
  }

  lastSequence(log: LogName): Promise<number> {
    return this.#logs.lastSequence(log);
  }

  answer(succeeds: boolean): boolean {
    const oldest = this.#waiting.shift();
    if (succeeds) oldest?.answer();
    else oldest?.fail();
    return oldest !== undefined;
  }
}

/** One run: the real parts beside the model, compared after each step. */
export class Run {
  readonly logs: TestLogs;
  readonly peers: readonly Peer[];
  readonly #peerOptions: readonly PeerOptions[];
  readonly #maxQueued: number;
  #reader: GatedReader;
  #world: World | undefined;
  #nowMs = Date.UTC(2026, 0, 1);
  #hasAged = false;
  #hasCrashed = false;

  constructor(logs: TestLogs, peers: readonly PeerOptions[] = PEERS) {
    this.logs = logs;
    this.#reader = new GatedReader(logs);
    this.#peerOptions = peers;
    this.#maxQueued = peers.includes(BRIDGE) ? MAX_QUEUED_OF_BRIDGE : MAX_QUEUED;
    this.peers = peers.map(
      ({ name, filters, replayPerSecond }) =>
        new Peer(name, filters, replayPerSecond !== undefined),
    );
  }

  get world(): World {
    if (this.#world === undefined) throw new Error('not begun');
    return this.#world;
  }

  async begin(saved: World['saved'] = new Map()): Promise<void> {
    this.#reader = new GatedReader(this.logs);
    this.#world = await World.begin({
      logs: this.logs,
      reader: this.#reader,
      peers: this.#peerOptions,
      maxInFlight: MAX_IN_FLIGHT,
      maxQueued: this.#maxQueued,
      maxAgeMs: MAX_AGE_MS,
      now: () => this.#nowMs,
      saved,
    });
  }

  async append(log: LogName, topic: string): Promise<void> {
    const entry = await this.logs.append(log, topic, this.#nowMs);
    for (const peer of this.peers) {
      if (peer.isOwed(topic)) peer.ledgers[log].owed.push(entry.sequence);
    }
    this.world.router.appended(entry, true);
  }

  connect(peer: Peer): void {
    peer.connection = new Connection();
    peer.checked = 0;
    for (const log of LOG_NAMES) peer.ledgers[log].lastOnConnection.clear();
    this.world.destination(peer.name).connect(peer.connection);
  }

  disconnect(peer: Peer): void {
    if (peer.connection === undefined) return;
    this.world.destination(peer.name).disconnect(peer.connection);
    peer.connection = undefined;
  }

  /** One of those that await it is acknowledged, not always the oldest. */
  acknowledge(peer: Peer, which: number): boolean {
    const waiting = peer.connection?.unacknowledged ?? [];
    const [publish] = waiting.splice(which % Math.max(1, waiting.length), 1);
    if (publish === undefined) return false;
    const { log, sequence } = entryOf(publish.topic, publish.payload);
    const destination = this.world.destination(peer.name);
    const before = destination.cursors[log].delivered;
    destination.acknowledge(publish.messageId);
    // Otherwise it came too late: in flight, the entry had become too old, and counts as expired.
    const isInTime = destination.cursors[log].delivered > before;
    if (isInTime) peer.ledgers[log].acknowledged.add(sequence);
    else expect(this.#hasAged).toBe(true);
    return true;
  }

  setWritable(peer: Peer, isWritable: boolean): void {
    if (peer.connection === undefined) return;
    peer.connection.isWritable = isWritable;
    if (isWritable) this.world.destination(peer.name).wake();
  }

  age(ms: number): void {
    this.#nowMs += ms;
    this.#hasAged ||= ms > 0;
  }

  /** A kill loses what was not saved; a stop saves first. */
  async restart(isKill: boolean): Promise<void> {
    this.#hasCrashed ||= isKill;
    if (!isKill) await this.world.save();
    for (const peer of this.peers) peer.connection = undefined;
    await this.begin(this.world.saved);
  }

  answer(succeeds: boolean): boolean {
    return this.#reader.answer(succeeds);
  }

  check(): void {
    for (const peer of this.peers) {
      this.#checkSent(peer);
      for (const log of LOG_NAMES) this.#checkCursor(peer, log);
      const { alarms, messages } = this.world.destination(peer.name).cursors;
      const inFlight = peer.connection?.unacknowledged.length ?? 0;
      expect(inFlight).toBeLessThanOrEqual(MAX_IN_FLIGHT);
      expect(alarms.queued + messages.queued).toBeLessThanOrEqual(this.#maxQueued + MAX_IN_FLIGHT);
    }
  }

  /** Everybody is there, takes and acknowledges everything: nothing may remain. */
  async drain(): Promise<void> {
    // Whoever is connected still is taken over.
    for (const peer of this.peers) this.connect(peer);
    let isMoving = true;
    while (isMoving) {
      isMoving = false;
      while (this.answer(true)) isMoving = true;
      await this.logs.idle();
      for (const peer of this.peers) {
        while (this.acknowledge(peer, 0)) isMoving = true;
      }
      this.check();
    }
    for (const peer of this.peers) {
      for (const log of LOG_NAMES) this.#checkDrained(peer, log);
    }
    await this.world.keeper.keep();
    for (const log of LOG_NAMES) expect(await this.logs.read(log, 0, 1)).toEqual([]);
  }

  #checkSent(peer: Peer): void {
    const sent = peer.connection?.sent ?? [];
    for (const publish of sent.slice(peer.checked)) {
      const { log, sequence } = entryOf(publish.topic, publish.payload);
      const ledger = peer.ledgers[log];
      expect(ledger.owed).toContain(sequence);
      // Without a pace, everything is in order; with one, what is of one device.
      const lane = peer.isPaced ? publish.topic : '';
      expect(sequence).toBeGreaterThan(ledger.lastOnConnection.get(lane) ?? 0);
      ledger.lastOnConnection.set(lane, sequence);
      // What had fallen out may come back after a crash that forgot of it; from a bridge none falls out.
      const isForgotten = this.#hasCrashed && !peer.isPaced;
      if (!isForgotten && !ledger.firstSent.has(sequence)) this.#checkFirst(ledger, lane, sequence);
    }
    peer.checked = sent.length;
  }

  /** What is sent for the first time comes behind all of its lane that was sent before. */
  #checkFirst(ledger: Ledger, lane: string, sequence: number): void {
    ledger.firstSent.add(sequence);
    expect(sequence).toBeGreaterThan(ledger.newestSent.get(lane) ?? 0);
    ledger.newestSent.set(lane, sequence);
  }

  #checkCursor(peer: Peer, log: LogName): void {
    const cursor = this.world.destination(peer.name).cursors[log];
    const ledger = peer.ledgers[log];
    const { delivered, expired, dropped, queued, accepted, settled, toSkip } = cursor;
    expect(accepted).toBe(ledger.owed.length);
    expect(delivered + queued + expired + dropped).toBe(accepted);
    expect(Math.min(delivered, queued, expired, dropped, toSkip)).toBeGreaterThanOrEqual(0);
    // Nothing is passed for good but what was acknowledged or is counted as fallen out.
    const passed = ledger.owedUpTo(settled);
    expect(ledger.unseen(passed).length).toBeLessThanOrEqual(expired + dropped - toSkip);
    expect(passed.length - delivered).toBeLessThanOrEqual(expired + dropped - toSkip);
    if (!this.#hasAged) expect(expired).toBe(0);
  }

  #checkDrained(peer: Peer, log: LogName): void {
    const { delivered, expired, dropped, queued } = this.world.destination(peer.name).cursors[log];
    const ledger = peer.ledgers[log];
    const missing = ledger.unseen(ledger.owed);
    expect(queued).toBe(0);
    expect(missing.length).toBeLessThanOrEqual(expired + dropped);
    if (!this.#hasCrashed) expect(missing.length).toBe(expired + dropped);
    if (!this.#hasCrashed) expect(delivered).toBe(ledger.owed.length - missing.length);
    if (log === 'alarms' && !this.#hasAged) {
      // What falls out is the oldest, and telemetry before any alarm.
      const newest = ledger.owed.slice(-(this.#maxQueued - MAX_IN_FLIGHT));
      expect(ledger.unseen(newest)).toEqual([]);
    }
  }
}

/** The log is the last level of the topic, the sequence number is in the payload. */
function entryOf(topic: string, payload: Buffer): { log: LogName; sequence: number } {
  const { n } = JSON.parse(payload.toString());
  const log = LOG_NAMES.find((name) => topic.endsWith(`/${name}`));
  if (log === undefined) throw new Error(`no log in ${topic}`);
  return { log, sequence: Number(n) };
}
