/** The gateway's present faults: whoever watches something has slots here, and everything that shows faults asks here. */
import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Fault, FaultReport } from '../../domain/fault.js';
import { formatTime } from '../../domain/time.js';

/** Faults of one slot that are shown one by one: more would hide everything else. */
const MAX_NAMED = 3;
/** `changed` sends `gateway/status` to everybody. */
const TOLD_EVERY_MS = 1_000;

/** Emits `changed` when it shows other faults than before, at most once a second. */
export class Health extends EventEmitter<{ changed: [] }> {
  readonly #now: () => number;
  readonly #slots = new Map<string, readonly Fault[]>();
  #told: readonly Fault[] = [];
  #pause: NodeJS.Timeout | undefined;
  #isStarted = false;

  /** @param now the wall clock */
  constructor(now: () => number = Date.now) {
    super();
    this.#now = now;
  }

  /** Reports the fault of a slot that has at most one; `undefined` ends it. It began when its code was first reported. */
  report(slot: string, fault: FaultReport | undefined): void {
    if (fault === undefined) {
      this.replace(slot, []);
      return;
    }
    const [before] = this.#slots.get(slot) ?? [];
    const since = before?.code === fault.code ? before.since : fault.since;
    this.replace(slot, [{ ...fault, since }]);
  }

  /** Reports all faults of a slot, the most important first: those reported before but not given now have ended. */
  replace(slot: string, faults: readonly FaultReport[]): void {
    const before = this.#slots.get(slot) ?? [];
    const sinceByKey = new Map(before.map((fault) => [keyOf(fault), fault.since]));
    const nowText = formatTime(this.#now());
    const present = faults.map((fault) => {
      return { ...fault, since: sinceByKey.get(keyOf(fault)) ?? fault.since ?? nowText };
    });
    if (present.length > 0) this.#slots.set(slot, present);
    else this.#slots.delete(slot);
    this.#tell();
  }

  started(): void {
    this.#isStarted = true;
  }

  /** The faults that people and programs see: the first of each slot, and how many others there are. */
  shown(): readonly Fault[] {
    return [...this.#slots.values()].flatMap((faults) => {
      const [first, ...others] = faults.slice(MAX_NAMED);
      const named = faults.slice(0, MAX_NAMED);
      if (first === undefined) return named;
      return [...named, { ...first, subject: undefined, more: others.length + 1 }];
    });
  }

  /** Whether the gateway has started, and no fault stops it. */
  ready(): boolean {
    return this.#isStarted && [...this.#slots.values()].flat().every(({ stops }) => !stops);
  }

  #tell(): void {
    if (this.#pause !== undefined) return;
    const shown = this.shown();
    if (isDeepStrictEqual(shown, this.#told)) return;
    this.#told = shown;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#tell();
    }, TOLD_EVERY_MS).unref();
    this.emit('changed');
  }
}

function keyOf({ name, subject }: FaultReport): string {
  return `${name} ${subject?.type} ${subject?.id}`;
}
