/**
 * Reads the account of each queue from the store, makes faults and figures of it, and counts the alarms of this run
 * (contract 4.6).
 */
import { Histogram } from 'prom-client';
import { ALARM_KINDS, type AlarmKind } from '../domain/alarm.js';
import { BRIDGE_CLIENT_ID_PREFIX } from '../domain/bridge-schema.js';
import { type FaultReport, type FaultSubject, fault } from '../domain/fault.js';
import { WEBHOOK_CLIENT_ID_PREFIX } from '../domain/output-schema.js';
import { formatTime } from '../domain/time.js';
import { within } from '../site/clock/pause.js';
import { type Consumer, isDurable } from './consumer.js';
import type { Entry } from './message.js';
import type { NewAlarm } from './new-entry.js';
import { type Account, DROP_REASONS, EMPTY_ACCOUNT, type QueueStore } from './queue.js';
import type { Router } from './router.js';

/** How many messages of a bridge or webhook wait, were delivered, and were given up, by reason. */
export interface QueueFigures {
  /** Those in flight included. */
  readonly queued: number;
  /** When the oldest queued message was received; null for none, or while the store is away. */
  readonly oldestQueuedAt: string | null;
  readonly delivered: number;
  readonly dropped: {
    /** Messages beyond the age that is kept. */
    readonly tooOld: number;
    /** Messages beyond the number or size that is kept. */
    readonly tooMany: number;
    /** Dead letters. */
    readonly refused: number;
    /** Messages that the store has lost. */
    readonly lost: number;
  };
}

/** Whether every accepted entry is in exactly one state. */
export function isBalanced({ accepted, delivered, queued, expired, dropped }: Account): boolean {
  return accepted === delivered + queued + expired + dropped;
}

/** How many were dropped because of a bound. */
export function tooMany({ dropped, reasons }: Account): number {
  return dropped - DROP_REASONS.reduce((sum, reason) => sum + reasons[reason], 0);
}

const WITHIN_MS = 1_000;
/** Accounts read in one call. */
const AT_ONCE = 250;

/** Reads the accounts of durable consumers from the store. */
export class AccountReader {
  readonly #router: Router;
  readonly #queues: Pick<QueueStore, 'accounts'>;
  #refreshing: Promise<unknown> | undefined;

  constructor(router: Router, queues: Pick<QueueStore, 'accounts'>) {
    this.#router = router;
    this.#queues = queues;
  }

  /** Updates the accounts of all consumers, if the store answers soon; otherwise they stay as last read. */
  async refresh(): Promise<void> {
    this.#refreshing ??= this.read().finally(() => {
      this.#refreshing = undefined;
    });
    await Promise.allSettled([within(this.#refreshing, WITHIN_MS)]);
  }

  /**
   * Reads the accounts of all durable consumers, after settling what is acknowledged.
   *
   * @returns the keys of consumers without an account in the store
   */
  async read(): Promise<readonly string[]> {
    const { services, consumers } = this.#router;
    await services.settler.flush();
    const durable = [...consumers].filter(isDurable);
    const gone: string[] = [];
    for (let at = 0; at < durable.length; at += AT_ONCE) {
      const page = durable.slice(at, at + AT_ONCE);
      const accounts = await this.#queues.accounts(page.map(({ key }) => key));
      for (const [index, consumer] of page.entries()) {
        const found = accounts[index];
        if (found === undefined) gone.push(consumer.key);
        else consumer.noteAccount(found);
      }
    }
    return gone;
  }
}

/** Reads from the store when the oldest queued message of a consumer was received. */
export class OldestQueued {
  readonly #consumer: Pick<Consumer, 'oldestReceivedAtMs'>;
  #reading: Promise<number | null> | undefined;

  constructor(consumer: Pick<Consumer, 'oldestReceivedAtMs'>) {
    this.#consumer = consumer;
  }

  /** Null for an empty queue, undefined when the store does not answer in time. */
  async receivedAtMs(): Promise<number | null | undefined> {
    // One read at a time: while the store is away, callers share the waiting read.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    const [read] = await Promise.allSettled([within(this.#reading, WITHIN_MS)]);
    return read.status === 'fulfilled' ? read.value : undefined;
  }

  async #read(): Promise<number | null> {
    return (await this.#consumer.oldestReceivedAtMs()) ?? null;
  }
}

/**
 * Sums up a queue, which may not be open yet.
 *
 * @param wallTimeOf converts a steady time to the wall time that people see
 */
export async function queueFigures(
  queue: Consumer | undefined,
  oldest: OldestQueued | undefined,
  wallTimeOf: (steadyMs: number) => number,
): Promise<QueueFigures> {
  const { alarms, messages } = queue?.accounts ?? {
    alarms: EMPTY_ACCOUNT,
    messages: EMPTY_ACCOUNT,
  };
  const { queued } = queue ?? { queued: { alarms: 0, messages: 0 } };
  const oldestMs = (await oldest?.receivedAtMs()) ?? null;
  const sum = (figure: (account: Account) => number) => figure(alarms) + figure(messages);
  return {
    queued: queued.alarms + queued.messages,
    oldestQueuedAt: oldestMs === null ? null : formatTime(wallTimeOf(oldestMs)),
    delivered: sum(({ delivered }) => delivered),
    dropped: {
      tooOld: sum(({ expired }) => expired),
      tooMany: sum(tooMany),
      refused: sum(({ reasons }) => reasons.refused),
      lost: sum(({ reasons }) => reasons.lost),
    },
  };
}

/**
 * The faults of accounts that do not balance.
 *
 * @param acknowledge makes them balance again
 */
export function accountFaults(
  consumers: Iterable<Consumer>,
  acknowledge: () => void,
): FaultReport[] {
  const broken = [...consumers].filter(({ accounts }) => !isBalanced(accounts.alarms));
  return broken.map(({ name }) => {
    return { ...fault('accountBroken'), subject: consumerSubject(name), acknowledge };
  });
}

/** The faults of backlogs that are more than half full. */
export function backlogFaults(consumers: Iterable<Consumer>): FaultReport[] {
  const growing = [...consumers].filter(({ queued: { alarms, messages }, limits }) => {
    return alarms + messages > limits.maxQueued / 2;
  });
  return growing.map(({ name }) => {
    return { ...fault('queueGrowing'), subject: consumerSubject(name) };
  });
}

const WAITS_AFTER_MS = 60_000;

/**
 * The faults of sessions, bridges and webhooks for which an alarm has waited for more than a minute. Each began when
 * that alarm was received.
 *
 * @param wallTimeOf converts a steady time to the wall time that people see
 * @returns undefined while the store does not answer
 */
export async function waitingFaults(
  consumers: Iterable<Consumer>,
  steadyNowMs: number,
  wallTimeOf: (steadyMs: number) => number,
): Promise<FaultReport[] | undefined> {
  const waiting = [...consumers].filter(isDurable).filter(({ queued }) => queued.alarms > 0);
  const oldest = await Promise.allSettled(waiting.map((one) => one.oldestAlarmAtMs()));
  if (oldest.length > 0 && oldest.every(({ status }) => status === 'rejected')) return undefined;
  const late = waiting.flatMap(({ name }, index) => {
    const found = oldest[index];
    const atMs = found?.status === 'fulfilled' ? found.value : undefined;
    return atMs === undefined || atMs > steadyNowMs - WAITS_AFTER_MS ? [] : [{ name, atMs }];
  });
  return late.map(({ name, atMs }) => {
    const since = formatTime(wallTimeOf(atMs));
    return { ...fault('alarmsWaiting'), since, subject: consumerSubject(name) };
  });
}

/** A consumer as the subject of a fault. */
export function consumerSubject(clientId: string): FaultSubject {
  for (const [type, prefix] of OURS) {
    const name = clientId.slice(prefix.length);
    if (clientId.startsWith(prefix)) return { type, id: name, name };
  }
  return { type: 'session', id: clientId, name: clientId };
}

/** Consumers that are not clients, by the prefix of their client ids. */
const OURS = [
  ['bridge', BRIDGE_CLIENT_ID_PREFIX],
  ['webhook', WEBHOOK_CLIENT_ID_PREFIX],
] as const;

/** From 1 ms to 65.536 s, each twice as long as the one before. */
const DURATION_BUCKETS_SECONDS = Array.from({ length: 17 }, (_, exponent) => 2 ** exponent / 1000);

/** Counts the alarms accepted since the start, for `/metrics`. */
export class AlarmFigures {
  /** Recorded alarms by kind. */
  readonly counts = new Map<AlarmKind, number>(ALARM_KINDS.map((kind) => [kind, 0]));
  readonly untilRecorded = durations(
    'gateway_alarm_record_duration_seconds',
    'From the receipt of an alarm to its record',
  );
  readonly untilSent = durations(
    'gateway_alarm_first_delivery_duration_seconds',
    'From the receipt of an alarm until it was first sent to a subscriber or bridge, live copies included',
  );
  readonly #now: () => number;

  /** @param now the steady clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  recorded({ source }: Entry): void {
    if (source === undefined || !('alarm' in source)) return;
    const { kind } = source.alarm;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.untilRecorded.observe((this.#now() - source.receivedAtMs) / 1000);
  }

  /** Notes that an alarm is sent; only the first time counts. */
  sent(alarm: NewAlarm): void {
    if (alarm.isSent) return;
    alarm.isSent = true;
    this.untilSent.observe((this.#now() - alarm.receivedAtMs) / 1000);
  }
}

function durations(name: string, help: string): Histogram {
  return new Histogram({ name, help, buckets: DURATION_BUCKETS_SECONDS, registers: [] });
}
