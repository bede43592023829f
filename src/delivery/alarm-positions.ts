import { within } from '../site/clock/pause.js';
import type { HistoryReader, LogEntry, Tail } from './log/log-entry.js';

/** Store, sequence and alarm. */
const POSITION = /^([0-9a-f]{0,8})-(\d{1,15})-([0-9a-f]{0,8})$/;
/** The beginning of every alarm (`alarmText`). */
const ALARM_ID = /^\{"id":"([0-9a-f]{8})-/;
const BEGINNING_BYTES = 20;
const STORE_LENGTH = 8;
/** A slower store does not keep clients from new alarms. */
const ANSWER_WITHIN_MS = 1_000;

export interface AlarmPositionsOptions {
  readonly tail: Tail;
  readonly reader: HistoryReader;
  /** Distinguishes the store from an emptied or replaced one. */
  readonly storeIdentity: () => string;
}

/**
 * Positions in the history as text, for clients that resume from one.
 *
 * Besides the sequence, they hold the beginnings of the store's identity and of the alarm's id: another store starts
 * its own sequence, and a store that has lost its newest entries reuses their numbers.
 */
export class AlarmPositions {
  readonly #options: AlarmPositionsOptions;

  constructor(options: AlarmPositionsOptions) {
    this.#options = options;
  }

  /** The position of the newest alarm. */
  get newest(): string {
    const { tail } = this.#options;
    return this.#text(tail.last, tail.entryAfter(tail.last - 1));
  }

  /** The position of an alarm. */
  of(alarm: LogEntry): string {
    return this.#text(alarm.sequence, alarm);
  }

  /**
   * The sequence of a position.
   *
   * Undefined when the alarms that followed are not all known: the position is from another store, from lost alarms,
   * or older than the log, or the store does not answer.
   */
  async sequenceOf(position: string): Promise<number | undefined> {
    const [, store, digits, alarm = ''] = POSITION.exec(position) ?? [];
    const sequence = Number(digits);
    const { tail } = this.#options;
    if (digits === undefined || store !== this.#store || sequence > tail.last) return undefined;
    const isNewest = sequence === tail.last;
    const [here, next] = await this.#around(sequence, alarm !== '', !isNewest);
    if (next === undefined && !isNewest) return undefined;
    const isSame = here === undefined || alarm === '' || alarm === alarmOf(here);
    return isSame ? sequence : undefined;
  }

  get #store(): string {
    return this.#options.storeIdentity().slice(0, STORE_LENGTH);
  }

  #text(sequence: number, alarm: LogEntry | undefined): string {
    return `${this.#store}-${sequence}-${alarm === undefined ? '' : alarmOf(alarm)}`;
  }

  /** The entries at and after a sequence. */
  async #around(
    sequence: number,
    needsHere: boolean,
    needsNext: boolean,
  ): Promise<readonly [LogEntry | undefined, LogEntry | undefined]> {
    const { tail, reader } = this.#options;
    const [here, next] = [tail.entryAfter(sequence - 1), tail.entryAfter(sequence)];
    const isKnown = (here !== undefined || !needsHere) && (next !== undefined || !needsNext);
    if (isKnown) return [here, next];
    // For a store that does not answer, see `sequenceOf`.
    const reading = reader.read(sequence - 1, 2).catch(() => undefined);
    const entries = await within(reading, ANSWER_WITHIN_MS);
    const at = (wanted: number) => entries?.find((entry) => entry.sequence === wanted);
    return [at(sequence), at(sequence + 1)];
  }
}

/** The beginning of an alarm's id. */
function alarmOf({ payload }: LogEntry): string {
  return ALARM_ID.exec(payload.toString('latin1', 0, BEGINNING_BYTES))?.[1] ?? '';
}
