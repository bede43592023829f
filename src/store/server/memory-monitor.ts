import type { Logger } from 'pino';
import type { FaultName } from '../../domain/faults/fault-table.js';
import { fault } from '../../domain/faults/faults.js';
import type { Health } from '../../site/health/health.js';
import type { Headroom, StoreHeadroom } from '../../site/health/store-headroom.js';
import type { Store } from '../store.js';
import { infoNumber } from './server-info.js';

const FAULT = 'store-memory';

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

/** From here on readings must be recent: reservations made since a reading count for more than they take. */
const READ_OFTEN_FROM = 0.5;
const OFTEN_MS = 100;
/** Of all that an idle gateway asks of the store, this reading costs the most. */
const SELDOM_MS = 1_000;

export interface MemoryMonitorOptions {
  /** Fails soon while the store is away. */
  readonly store: Store;
  readonly health: Pick<Health, 'report'>;
  readonly headroom: Pick<StoreHeadroom, 'set' | 'beginReading'>;
  readonly log: Logger;
}

/** The store's memory, as counted against its `maxmemory`. */
export interface StoreMemory {
  readonly usedBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
}

/**
 * Watches how full the store's memory is, and keeps the last part of it for alarms.
 *
 * A server without `maxmemory` has no bound to watch. An absent server keeps its last known state.
 */
export class MemoryMonitor {
  readonly #options: MemoryMonitorOptions;
  #memory: StoreMemory = { usedBytes: 0, maxBytes: 0 };
  #level: Headroom = 'ample';
  /** The percentage in the current fault. */
  #reported: number | undefined;

  constructor(options: MemoryMonitorOptions) {
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

  /** How long to wait before the next check. */
  get pauseMs(): number {
    const { usedBytes, maxBytes } = this.#memory;
    return maxBytes > 0 && usedBytes >= maxBytes * READ_OFTEN_FROM ? OFTEN_MS : SELDOM_MS;
  }

  async check(): Promise<void> {
    const { store, headroom } = this.#options;
    const endReading = headroom.beginReading();
    this.#memory = memoryIn(await store.read((redis) => redis.info('memory')));
    endReading(this.leftForOthers);
    this.#judge();
  }

  #judge(): void {
    const { headroom, log } = this.#options;
    const { usedBytes, maxBytes } = this.#memory;
    const used = maxBytes === 0 ? 0 : usedBytes / maxBytes;
    const now = this.#levelAt(used);
    if (now !== this.#level) {
      const line = 'the headroom of the store has changed';
      log[now === 'ample' ? 'info' : 'warn'](
        { part: 'store', headroom: now, usedBytes, maxBytes },
        line,
      );
      this.#level = now;
      this.#reported = undefined;
      headroom.set('memory', now);
    }
    this.#report(used);
  }

  #levelAt(used: number): Headroom {
    const slack = (level: Headroom) => (this.#level === level ? HYSTERESIS : 0);
    if (used >= ALARMS_UP_TO - slack('full')) return 'full';
    const isBelow = this.#level === 'ample' ? 0 : HYSTERESIS;
    return used >= OTHERS_UP_TO - isBelow ? 'short' : 'ample';
  }

  #report(used: number): void {
    const { health } = this.#options;
    const percent = Math.min(100, Math.floor(used * 100));
    const isOver = used < FAULT_FROM - (this.#reported === undefined ? 0 : HYSTERESIS);
    if (isOver) {
      this.#reported = undefined;
      health.report(FAULT, undefined);
      return;
    }
    const hasMoved = Math.abs(percent - (this.#reported ?? 0)) >= PERCENT_STEP;
    if (!hasMoved) return;
    this.#reported = percent;
    health.report(FAULT, fault(FAULT_AT[this.#level], { percent }));
  }
}

/** The figures that the server itself compares: buffers for its append-only file and replicas do not count. */
function memoryIn(info: string): StoreMemory {
  const countedBytes = infoNumber(info, 'used_memory');
  const usedBytes = countedBytes - infoNumber(info, 'mem_not_counted_for_evict');
  return { usedBytes, maxBytes: infoNumber(info, 'maxmemory') };
}
