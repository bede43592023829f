import type { Logger } from 'pino';
import type { AlarmLogItem, NewEvent } from '../delivery/log/log-item.js';
import type { LogWriter } from '../delivery/log/log-writer.js';
import { ESCALATIONS_LEVEL, type Escalation } from '../domain/time/escalations.js';
import { forwardedTopic } from '../domain/topics.js';

export const ESCALATION_CHECK_MS = 500;
/** How many go to the log at a time; alarms go first in between. */
const MAX_AT_ONCE = 200;

/** An escalation that is due, unless somebody has acknowledged the alarm. */
export interface DueAlarm {
  /** Names alarm and escalation. */
  readonly member: string;
  /** Of the alarm. */
  readonly sequence: number;
  readonly name: string;
}

/** An alarm as its escalation repeats it. */
export interface EscalatedAlarm {
  readonly id: string;
  /** The members of its JSON before the device's place. */
  readonly members: string;
  /** `DeviceContext.text` as of the alarm. */
  readonly contextText: string;
  readonly place: {
    readonly device: { readonly id: string };
    readonly location: { readonly id: string };
    readonly group: { readonly id: string } | null;
  };
}

/** Knows when escalations are due, across restarts. */
export interface EscalationStore {
  /** The first escalations due at a time of the steady clock. */
  due(steadyAtMs: number, count: number): Promise<DueAlarm[]>;
  /** Undefined when the alarm is gone, or cannot be read. */
  alarm(sequence: number): Promise<EscalatedAlarm | undefined>;
  /** Forgets escalations that have nothing to escalate any more. */
  forget(members: readonly string[]): Promise<void>;
}

export interface EscalationsOptions {
  readonly escalations: readonly Escalation[];
  readonly store: EscalationStore;
  readonly alarms: Pick<LogWriter<AlarmLogItem>, 'append'>;
  readonly log: Logger;
  readonly now: () => number;
  readonly steadyNow: () => number;
}

/**
 * Repeats alarms that nobody has acknowledged in time, as events in the log of alarms.
 *
 * The store knows when each is due and appends it once, unless the alarm has a state by then (append-events.lua). So no
 * crash and no second gateway duplicates one, and none comes after an acknowledgement that was answered.
 */
export class Escalations {
  readonly #options: EscalationsOptions;
  readonly #byName: ReadonlyMap<string, Escalation>;
  #isChecking = false;
  #hasFailed = false;

  constructor(options: EscalationsOptions) {
    this.#options = options;
    this.#byName = new Map(options.escalations.map((one) => [one.name, one]));
  }

  /** Makes the escalations that are due; call it every `ESCALATION_CHECK_MS`. Never throws. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      while ((await this.#makeSome()) === MAX_AT_ONCE);
      this.#hasFailed = false;
    } catch (err) {
      if (!this.#hasFailed)
        this.#options.log.warn({ part: 'escalations', err }, 'failed to escalate alarms, retrying');
      this.#hasFailed = true;
    } finally {
      this.#isChecking = false;
    }
  }

  /** @returns how many were due */
  async #makeSome(): Promise<number> {
    const { store, steadyNow } = this.#options;
    const due = await store.due(steadyNow(), MAX_AT_ONCE);
    const events = await Promise.all(due.map((one) => this.#eventOf(one)));
    const gone = due.filter((_, index) => events[index] === undefined);
    await store.forget(gone.map(({ member }) => member));
    const appended = await Promise.all(events.map((event) => event && this.#append(event)));
    // Without the store, or at the stop: they stay due.
    return appended.includes(false) ? 0 : due.length;
  }

  #append(event: NewEvent): Promise<boolean> {
    return new Promise((resolve) => this.#options.alarms.append(event, resolve));
  }

  async #eventOf({ member, sequence, name }: DueAlarm): Promise<NewEvent | undefined> {
    const { store, now, steadyNow } = this.#options;
    const escalation = this.#byName.get(name);
    const alarm = escalation && (await store.alarm(sequence));
    if (escalation === undefined || alarm === undefined) return undefined;
    const { id, place, contextText } = alarm;
    const { afterSeconds } = escalation;
    const level = `${ESCALATIONS_LEVEL}/${name}`;
    const members = `${alarm.members},"late":false,"escalation":${JSON.stringify({ name, afterSeconds })}`;
    return {
      topic: forwardedTopic(place.location.id, place.device.id, level),
      payload: Buffer.from(`{${members},${contextText}}`),
      receivedAtMs: steadyNow(),
      locationId: place.location.id,
      groupId: place.group?.id ?? null,
      isNeverLate: true,
      event: {
        level,
        members,
        placeText: `{${contextText}}`,
        atMs: now(),
        subject: { type: 'escalation', member, alarmSequence: sequence, alarmId: id },
      },
    };
  }
}
