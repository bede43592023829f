import type { Logger } from 'pino';
import type { NewEvent } from '../delivery/new-entry.js';
import type { Writer } from '../delivery/writer.js';
import { derivedId, uuidBytes } from '../domain/ids.js';
import { ESCALATIONS_LEVEL, type Escalation } from '../domain/rules.js';
import { forwardedTopic } from '../domain/topics.js';
import type { EscalationStoreRedis } from '../store/site/kept.js';

export const ESCALATION_CHECK_MS = 500;
/** How many go to the log at a time; alarms go first in between. */
const MAX_AT_ONCE = 200;

/** An escalation that is due, unless somebody has acknowledged the alarm. */
export interface DueAlarm {
  /** Names alarm and escalation. */
  readonly member: string;
  readonly alarmId: string;
  readonly deviceId: string;
  readonly name: string;
}

/** An alarm as its escalation repeats it. */
export interface EscalatedAlarm {
  /** The members of its JSON before the device's place. */
  readonly members: string;
  /** `DeviceContext.text` as of the alarm. */
  readonly contextText: string;
  readonly place: {
    readonly device: { readonly id: string };
    readonly location: { readonly id: string };
    readonly group: { readonly id: string } | null;
  };
  /** Whether it is neither acknowledged nor resolved. */
  readonly isRaised: boolean;
}

export interface EscalationsOptions {
  /** Those of the configuration as it is now. */
  readonly escalations: () => readonly Escalation[];
  readonly store: EscalationStoreRedis;
  readonly writer: Pick<Writer, 'append'>;
  readonly log: Logger;
  readonly now: () => number;
  readonly steadyNow: () => number;
}

/**
 * Repeats alarms that nobody has acknowledged in time, as events in the log of alarms.
 *
 * The store knows when each is due and appends it once, unless the alarm has a state by then: so no crash duplicates one,
 * and none comes after an acknowledgement that was answered.
 */
export class Escalations {
  readonly #options: EscalationsOptions;
  #hasFailed = false;

  constructor(options: EscalationsOptions) {
    this.#options = options;
  }

  /** Makes the escalations that are due; `repeat` it every `ESCALATION_CHECK_MS`. Never throws. */
  async check(): Promise<void> {
    try {
      while ((await this.#makeSome()) === MAX_AT_ONCE);
      this.#hasFailed = false;
    } catch (err) {
      if (!this.#hasFailed)
        this.#options.log.warn({ part: 'escalations', err }, 'failed to escalate alarms, retrying');
      this.#hasFailed = true;
    }
  }

  /** @returns how many were due */
  async #makeSome(): Promise<number> {
    const { store, steadyNow } = this.#options;
    const due = await store.due(steadyNow(), MAX_AT_ONCE);
    const events = await Promise.all(due.map((one) => this.#eventOf(one)));
    const numbers = await Promise.all(events.map((event) => event && this.#append(event)));
    // The appended ones are forgotten with the entry; without the store, or at the stop, they stay due.
    const gone = due.filter((_, index) => {
      const number = numbers[index];
      return events[index] === undefined || (number !== undefined && number <= 0);
    });
    await store.forget(gone.map(({ member }) => member));
    const hasFailed = events.some((event, index) => event && numbers[index] === undefined);
    return hasFailed ? 0 : due.length;
  }

  /** Resolves to the number of the entry, as `Done` has it; undefined if it could not be stored. */
  #append(event: NewEvent): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#options.writer.append(event, (isStored, number) => {
        resolve(isStored ? number : undefined);
      });
    });
  }

  /** Undefined when there is nothing to escalate any more. */
  async #eventOf(due: DueAlarm): Promise<NewEvent | undefined> {
    const { escalations, store, now, steadyNow } = this.#options;
    const { member, alarmId, deviceId, name } = due;
    const escalation = escalations().find((one) => one.name === name);
    const alarm = escalation && (await store.alarm(due));
    if (escalation === undefined || alarm?.isRaised !== true) return undefined;
    const { place, contextText } = alarm;
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
        id: uuidBytes(derivedId(alarmId, `${deviceId}/${level}`)),
        deviceId,
        level,
        members,
        placeText: `{${contextText}}`,
        atMs: now(),
        subject: { type: 'escalation', member, alarmId },
      },
    };
  }
}
