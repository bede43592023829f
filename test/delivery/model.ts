import { expect, vi } from 'vitest';
import type { Consumer } from '../../src/delivery/consumer.js';
import type { Cursor } from '../../src/delivery/cursors/cursor.js';
import type { ConsumerLimits } from '../../src/delivery/limits.js';
import { LOG_NAMES, type LogName } from '../../src/delivery/log/log-entry.js';
import { MessageCompaction } from '../../src/delivery/log/message-compaction.js';
import type { QoS } from '../../src/delivery/sessions/subscriptions.js';
import { matchesFilter } from '../harness/matches-filter.js';
import type { TestLogs } from './array-logs.js';
import { GatedReader } from './gated-reader.js';
import { type Happened, type Item, isAtMost, Ledger } from './ledger.js';
import { MemorySessions } from './memory-sessions.js';
import { Connection, numbered, numberIn, RunningDelivery } from './running-delivery.js';

const MAX_IN_FLIGHT = 4;
const MAX_AGE_MS = 1_000;
/** Time after which a slow bridge may send the next message. */
const PACE_MS = 50;
const LIMITS: ConsumerLimits = {
  maxInFlight: MAX_IN_FLIGHT,
  maxQueued: 12,
  maxQueuedBytes: 1_000,
  maxAgeMs: MAX_AGE_MS,
};

export interface PeerOptions {
  readonly name: string;
  readonly filters: readonly string[];
  /** As a bridge's: new alarms go ahead of other devices' backlog. */
  readonly replayPerSecond?: number;
}

export const DEVICES = ['both', 'one', 'two'];

export function filterOf(device: string): string {
  return `care-homes/+/devices/${device}/#`;
}

function topicOf(log: LogName, device: string): string {
  return `care-homes/home/devices/${device}/${log === 'alarms' ? 'alarms/fall' : 'x'}`;
}

export const PEERS: readonly PeerOptions[] = [
  { name: 'one', filters: [filterOf('both'), filterOf('one'), 'care-homes/home/devices/both/+'] },
  { name: 'two', filters: [filterOf('both'), filterOf('two')] },
];
export const BRIDGE: PeerOptions = {
  name: 'bridge',
  filters: DEVICES.map(filterOf),
  // As fast as acknowledged: time does not pass by itself here.
  replayPerSecond: 1e9,
};
/** A pace at which most of a backlog has to wait. */
export const SLOW_BRIDGE: PeerOptions = { ...BRIDGE, replayPerSecond: 20 };

/** A subscriber: its ledgers, and its connection while it has one. */
export class Peer {
  readonly name: string;
  readonly limits: ConsumerLimits;
  readonly filters: Map<string, QoS>;
  readonly ledgers: Readonly<Record<LogName, Ledger>>;
  connection: Connection | undefined;
  checked = 0;
  /** Whether the filters have changed since the backlog of messages was empty. */
  hasChanged = false;
  /** Whether marks in that backlog may be missing: then the next entries make room. */
  lacksMarks = false;

  constructor({ name, filters, replayPerSecond }: PeerOptions) {
    this.name = name;
    this.limits = { ...LIMITS, replayPerSecond };
    this.filters = new Map(filters.map((filter) => [filter, 1]));
    // Only alarms go ahead of others.
    this.ledgers = {
      alarms: new Ledger('alarms', replayPerSecond !== undefined),
      messages: new Ledger('messages', false),
    };
  }

  accepts(topic: string): boolean {
    return [...this.filters].some(([filter, qos]) => qos === 1 && matchesFilter(filter, topic));
  }
}

/** One run of the real parts beside the model, compared after each step. */
export class Run {
  readonly logs: TestLogs;
  readonly store = new MemorySessions();
  readonly peers: readonly Peer[];
  readonly #happened: Happened = { hasAged: false, hasCrashed: false, hasLost: false };
  readonly #items: Record<LogName, Item[]> = { alarms: [], messages: [] };
  #numbers = 0;
  #reader: GatedReader;
  #delivery: RunningDelivery | undefined;
  #isMarked = true;
  #nowMs = Date.UTC(2026, 0, 1);

  private constructor(logs: TestLogs, peers: readonly PeerOptions[]) {
    this.logs = logs;
    this.#reader = new GatedReader(logs);
    this.peers = peers.map((options) => new Peer(options));
  }

  static async begin(logs: TestLogs, peers: readonly PeerOptions[] = PEERS): Promise<Run> {
    const run = new Run(logs, peers);
    await run.#begin();
    for (const { name, filters } of peers) await run.delivery.subscribed(name, ...filters);
    return run;
  }

  get delivery(): RunningDelivery {
    if (this.#delivery === undefined) throw new Error('not begun');
    return this.#delivery;
  }

  peer(name: string): Peer {
    const peer = this.peers.find((one) => one.name === name);
    if (peer === undefined) throw new Error(name);
    return peer;
  }

  consumer({ name }: Peer): Consumer {
    return this.delivery.consumer(name);
  }

  async append(log: LogName, device: string, count = 1, bytes = 0): Promise<void> {
    const topic = topicOf(log, device);
    const items = Array.from({ length: count }, () =>
      numbered(++this.#numbers, topic, this.#nowMs, bytes),
    );
    const first = this.#numbers - count + 1;
    const sequences = await this.delivery.append(log, items);
    for (const [index, sequence] of sequences.entries()) {
      const place = { topic, receivedAtMs: this.#nowMs, isLost: false };
      const item = { n: first + index, sequence, ...place };
      this.#items[log].push(item);
      for (const peer of this.peers) {
        if (peer.accepts(topic)) peer.ledgers[log].accepted.set(item.n, item);
      }
    }
  }

  /** Publishes from all devices in turn while all peers are away; then all connect. */
  async buildBacklog(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.append('alarms', DEVICES[n % DEVICES.length] ?? '');
    this.delivery.forgetTails();
    for (const peer of this.peers) this.connect(peer);
  }

  connect(peer: Peer): void {
    const consumer = this.consumer(peer);
    this.#checkSent(peer);
    peer.connection = new Connection();
    peer.checked = 0;
    for (const log of LOG_NAMES) peer.ledgers[log].connected();
    consumer.connect(peer.connection);
  }

  disconnect(peer: Peer): void {
    if (peer.connection === undefined) return;
    this.consumer(peer).disconnect(peer.connection);
    peer.connection = undefined;
  }

  async subscribe(peer: Peer, filter: string, qos: QoS): Promise<void> {
    peer.filters.set(filter, qos);
    this.#filtersChanged(peer);
    await this.delivery.subscribe(peer.name, [{ filter, qos }]);
  }

  async unsubscribe(peer: Peer, filter: string): Promise<void> {
    peer.filters.delete(filter);
    this.#filtersChanged(peer);
    await this.delivery.unsubscribe(peer.name, [filter]);
  }

  /** Acknowledges one of the messages in flight, not always the oldest. */
  acknowledge(peer: Peer, which: number): boolean {
    const waiting = peer.connection?.unacknowledged ?? [];
    const [publish] = waiting.splice(which % Math.max(1, waiting.length), 1);
    if (publish === undefined) return false;
    const log = logOf(publish.topic);
    const consumer = this.consumer(peer);
    const before = consumer.cursors[log].delivered;
    consumer.acknowledge(publish.messageId);
    // Otherwise the acknowledgement came too late: the entry had expired, or was lost.
    const isInTime = consumer.cursors[log].delivered > before;
    if (isInTime) peer.ledgers[log].acknowledged.add(numberIn(publish));
    else expect(this.#happened.hasAged || this.#happened.hasLost).toBe(true);
    return true;
  }

  setWritable(peer: Peer, isWritable: boolean): void {
    if (peer.connection === undefined) return;
    peer.connection.isWritable = isWritable;
    if (isWritable) this.consumer(peer).wake();
  }

  age(ms: number): void {
    this.#nowMs += ms;
    this.#happened.hasAged ||= ms > 0;
    vi.advanceTimersByTime(ms);
  }

  /** Restarts; a kill loses unsaved state, a stop saves first. */
  async restart(isKill: boolean, marksAtOnce: boolean): Promise<void> {
    this.#happened.hasCrashed ||= isKill;
    if (!isKill) await this.delivery.sessions.stop();
    for (const peer of this.peers) {
      peer.connection = undefined;
      peer.lacksMarks ||= peer.hasChanged;
    }
    await this.#begin();
    if (marksAtOnce) await this.mark();
  }

  /** Sets the marks, which a start leaves to the background. */
  async mark(): Promise<void> {
    if (!this.#isMarked) await this.delivery.markBacklogs();
    this.#isMarked = true;
  }

  answer(succeeds: boolean): boolean {
    return this.#reader.answer(succeeds);
  }

  keepBounds(): void {
    for (const consumer of this.delivery.deliveries.consumers) consumer.keepBounds();
  }

  async compact(): Promise<void> {
    await this.delivery.sessions.saveCursors();
    await new MessageCompaction(this.logs, this.delivery.deliveries).compact();
  }

  /**
   * Loses the store's newest entries, as when they were not replicated.
   *
   * The gateway notices at the next append, or at a start, and saves its counts within a second.
   */
  async lose(
    log: LogName,
    count: number,
    lose: (last: number) => void,
    notice: () => Promise<void>,
  ): Promise<void> {
    const last = Math.max(
      0,
      (this.#items[log].findLast((one) => !one.isLost)?.sequence ?? 0) - count,
    );
    for (const item of this.#items[log]) if (item.sequence > last) item.isLost = true;
    this.#happened.hasLost = true;
    lose(last);
    await notice();
    await this.delivery.upkeep.checkpoint();
  }

  check(): void {
    const oldestMs = this.#nowMs - MAX_AGE_MS;
    for (const peer of this.peers) {
      this.#checkSent(peer);
      const { cursors } = this.consumer(peer);
      for (const log of LOG_NAMES) peer.ledgers[log].check(cursors[log], oldestMs, this.#happened);
      isAtMost(peer.connection?.unacknowledged.length ?? 0, MAX_IN_FLIGHT);
      this.#checkBounds(peer, cursors.messages);
    }
  }

  /** Connects everybody and acknowledges everything: nothing may remain. */
  async drain(): Promise<void> {
    await this.mark();
    // A connection that is still open is taken over.
    for (const peer of this.peers) this.connect(peer);
    let isMoving = true;
    while (isMoving) {
      isMoving = false;
      while (this.answer(true)) isMoving = true;
      await this.logs.idle();
      for (const peer of this.peers) while (this.acknowledge(peer, 0)) isMoving = true;
      if (!this.#reader.isIdle) isMoving = true;
      this.check();
      if (isMoving || !this.#isSlowed) continue;
      this.age(PACE_MS);
      isMoving = true;
    }
    const oldestMs = this.#nowMs - MAX_AGE_MS;
    for (const peer of this.peers) {
      const { cursors } = this.consumer(peer);
      for (const log of LOG_NAMES) {
        peer.ledgers[log].checkDrained(cursors[log], oldestMs, this.#happened);
      }
    }
    await this.delivery.keep();
    expect(await this.logs.read('messages', 0, 1)).toEqual([]);
  }

  /** Whether a backlog waits for its pace. */
  get #isSlowed(): boolean {
    return this.peers.some((peer) => {
      const { alarms, messages } = this.consumer(peer).cursors;
      return peer.limits.replayPerSecond !== undefined && alarms.queued + messages.queued > 0;
    });
  }

  async #begin(): Promise<void> {
    vi.clearAllTimers();
    this.store.writesLeft = Number.POSITIVE_INFINITY;
    this.#reader = new GatedReader(this.logs);
    this.#delivery = await RunningDelivery.begin({
      logs: this.logs,
      reader: this.#reader,
      store: this.store,
      now: () => this.#nowMs,
      limits: LIMITS,
      ownerOf: (key) => ({
        ...{ key, mayReceive: () => true, audienceKey: '' },
        limits: this.peer(key).limits,
      }),
    });
    this.#isMarked = false;
  }

  #checkBounds(peer: Peer, { queued, queuedBytes }: Cursor): void {
    if (queued === 0) {
      peer.hasChanged = false;
      peer.lacksMarks = false;
    }
    // Nothing is dropped while a page is being loaded.
    if (!this.#isMarked || peer.lacksMarks || !this.#reader.isIdle) return;
    isAtMost(queued, LIMITS.maxQueued);
    isAtMost(queuedBytes, LIMITS.maxQueuedBytes);
  }

  #filtersChanged(peer: Peer): void {
    peer.hasChanged = true;
    peer.lacksMarks ||= !this.#isMarked;
  }

  #checkSent(peer: Peer): void {
    const sent = peer.connection?.sent ?? [];
    for (const publish of sent.slice(peer.checked)) {
      if (publish.qos === 0) continue;
      peer.ledgers[logOf(publish.topic)].sent(numberIn(publish), this.#happened);
    }
    peer.checked = sent.length;
  }
}

function logOf(topic: string): LogName {
  return topic.includes('/alarms/') ? 'alarms' : 'messages';
}
