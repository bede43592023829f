import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Fault, FaultGroup, FaultReport } from '../../domain/faults/faults.js';
import { formatTime } from '../../domain/time.js';

/** The gateway's present faults. */
export class Health extends EventEmitter<{ changed: [] }> {
  readonly #now: () => number;
  readonly #faults = new Map<string, Fault>();
  #started = false;

  /** @param now the wall clock */
  constructor(now: () => number = Date.now) {
    super();
    this.#now = now;
  }

  /** Reports the fault of a source, or its end with `undefined`. */
  report(source: string, fault: FaultReport | undefined): void {
    if (this.#set(source, fault)) this.emit('changed');
  }

  /** Reports all faults of a source that has several: faults reported before but not given now have ended. */
  reportAll(source: string, { faults, others }: FaultGroup): void {
    const wanted = new Map<string, FaultReport>();
    for (const fault of faults) {
      const { type, id } = fault.subject ?? {};
      wanted.set(`${source}/${type}/${id}/${fault.name}`, fault);
    }
    if (others !== undefined) wanted.set(`${source}/more`, others);
    const present = [...this.#faults.keys()].filter((key) => key.startsWith(`${source}/`));
    const ended = present.filter((key) => !wanted.has(key));
    const changes = [
      ...ended.map((key) => this.#set(key, undefined)),
      ...Array.from(wanted, ([key, fault]) => this.#set(key, fault)),
    ];
    if (changes.includes(true)) this.emit('changed');
  }

  started(): void {
    this.#started = true;
  }

  faults(): readonly Fault[] {
    return [...this.#faults.values()];
  }

  /** Whether the gateway has started, and no fault stops it. */
  ready(): boolean {
    return this.#started && this.faults().every(({ stops }) => !stops);
  }

  /** Sets or ends the fault of a source; returns whether this changes anything. */
  #set(source: string, fault: FaultReport | undefined): boolean {
    const before = this.#faults.get(source);
    if (fault === undefined) return this.#faults.delete(source);
    const since =
      before?.code === fault.code ? before.since : (fault.since ?? formatTime(this.#now()));
    const present = { ...fault, since };
    if (isDeepStrictEqual(before, present)) return false;
    this.#faults.set(source, present);
    return true;
  }
}
