/**
 * Watches the server with one question every half second, on the connection used for alarms: whether it answers, how
 * fast, and how full its memory is. It keeps the last part of the memory for alarms.
 *
 * A server without `maxmemory` has no bound to watch. An absent server keeps its last known memory.
 */
import type { Logger } from 'pino';
import { isUnanswered } from '../../delivery/reply-code.js';
import { type FaultReport, fault } from '../../domain/fault.js';
import type { FaultName } from '../../domain/faults.js';
import { repeat } from '../../releasers.js';
import type { Health } from '../../site/health/health.js';
import type { Headroom, StoreHeadroom } from '../../site/health/store-headroom.js';
import type { Store } from '../store.js';
import { infoNumber } from './check.js';

const INTERVAL_MS = 500;
/** From here on readings must be recent: what is taken since a reading counts for more than it takes. */
const READ_OFTEN_FROM = 0.5;
const OFTEN_MS = 100;
const MAX_ANSWER_MS = 1_000;

/** This many slower answers in a row make a store slow; as many faster ones end it. */
const SLOW_ANSWER_MS = 200;
const ANSWERS_IN_A_ROW = 3;

/** Parts of the limit: where the fault begins, and where the store stops taking each class. */
const FAULT_FROM = 0.8;
const OTHERS_UP_TO = 0.9;
/** The rest is for work that makes room: settled messages, retention, deletions over HTTP. */
const ALARMS_UP_TO = 0.98;
/** A state ends only this much below its beginning, or it would come and go with every write. */
const HYSTERESIS = 0.005;
const PERCENT_STEP = 2;

const FAULT_AT = {
  ample: 'storeFilling',
  short: 'storeTakesAlarmsOnly',
  full: 'storeTakesNothing',
} as const satisfies Readonly<Record<Headroom, FaultName>>;

export interface StoreWatchOptions {
  /** Fails soon while the store is away. */
  readonly store: Store;
  readonly health: Pick<Health, 'report'>;
  readonly headroom: Pick<StoreHeadroom, 'set'>;
  readonly log: Logger;
  /** Milliseconds by a clock that does not jump. */
  readonly elapsed: () => number;
}

/** The store's memory, as counted against its `maxmemory`. */
export interface StoreMemory {
  readonly usedBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
}

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  #memory: StoreMemory = { usedBytes: 0, maxBytes: 0 };
  #level: Headroom = 'ample';
  /** The percentage in the current fault. */
  #reported: number | undefined;
  #isSlow = false;
  /** How many answers in a row contradict `#isSlow`. */
  #otherwise = 0;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
  }

  get memory(): StoreMemory {
    return this.#memory;
  }

  /** How many more bytes may be stored besides alarms; negative: this many must go. */
  get leftForOthers(): number {
    const { usedBytes, maxBytes } = this.#memory;
    return maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes * OTHERS_UP_TO - usedBytes;
  }

  /** How long to wait before the next question. */
  get pauseMs(): number {
    const { usedBytes, maxBytes } = this.#memory;
    return maxBytes > 0 && usedBytes >= maxBytes * READ_OFTEN_FROM ? OFTEN_MS : INTERVAL_MS;
  }

  /** Asks again and again, until the returned function is called. */
  start(): () => void {
    return repeat(
      () => this.check(),
      () => this.pauseMs,
    );
  }

  /** Asks once; reports a store that does not answer. */
  async check(): Promise<void> {
    const { store, health, elapsed } = this.#options;
    const silent = setTimeout(() => health.report('store', fault('storeSilent')), MAX_ANSWER_MS);
    const askedAtMs = elapsed();
    try {
      this.#memory = memoryIn(await store.read((redis) => redis.info('memory')));
    } catch (error) {
      health.report('store', refusal(error));
      return;
    } finally {
      clearTimeout(silent);
    }
    health.report('store', undefined);
    this.#judgePace(elapsed() - askedAtMs);
    this.#judgeMemory();
  }

  /** A slow store leaves the gateway ready: only acknowledgements are late. */
  #judgePace(answerMs: number): void {
    this.#otherwise = answerMs > SLOW_ANSWER_MS === this.#isSlow ? 0 : this.#otherwise + 1;
    if (this.#otherwise < ANSWERS_IN_A_ROW) return;
    this.#isSlow = !this.#isSlow;
    this.#otherwise = 0;
    this.#options.health.report('store-pace', this.#isSlow ? fault('storeSlow') : undefined);
  }

  #judgeMemory(): void {
    const { headroom, log } = this.#options;
    const { usedBytes, maxBytes } = this.#memory;
    const used = maxBytes === 0 ? 0 : usedBytes / maxBytes;
    const level = this.#levelAt(used);
    if (level !== this.#level) {
      const fields = { part: 'store', headroom: level, usedBytes, maxBytes };
      log[level === 'ample' ? 'info' : 'warn'](fields, 'the headroom of the store has changed');
      this.#level = level;
      this.#reported = undefined;
    }
    headroom.set('memory', level, this.leftForOthers);
    this.#reportMemory(used);
  }

  #levelAt(used: number): Headroom {
    const slack = (level: Headroom) => (this.#level === level ? HYSTERESIS : 0);
    if (used >= ALARMS_UP_TO - slack('full')) return 'full';
    const isBelow = this.#level === 'ample' ? 0 : HYSTERESIS;
    return used >= OTHERS_UP_TO - isBelow ? 'short' : 'ample';
  }

  #reportMemory(used: number): void {
    const { health } = this.#options;
    const percent = Math.min(100, Math.floor(used * 100));
    const isOver = used < FAULT_FROM - (this.#reported === undefined ? 0 : HYSTERESIS);
    if (isOver) {
      this.#reported = undefined;
      health.report('store-memory', undefined);
      return;
    }
    if (Math.abs(percent - (this.#reported ?? 0)) < PERCENT_STEP) return;
    this.#reported = percent;
    health.report('store-memory', fault(FAULT_AT[this.#level], { percent }));
  }
}

/** The figures that the server itself compares: buffers for its append-only file and replicas do not count. */
function memoryIn(info: string): StoreMemory {
  const countedBytes = infoNumber(info, 'used_memory');
  const usedBytes = countedBytes - infoNumber(info, 'mem_not_counted_for_evict');
  return { usedBytes, maxBytes: infoNumber(info, 'maxmemory') };
}

function refusal(error: unknown): FaultReport {
  if (isUnanswered(error)) return fault('storeUnreachable');
  const [code = 'ERR'] = error instanceof Error ? error.message.split(' ') : [];
  return fault('storeRefusesAnswers', { code });
}
