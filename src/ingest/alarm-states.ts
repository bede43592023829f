import { type FoundAlarm, isAlarm, type NewStateChange } from '../delivery/new-entry.js';
import type { Unstored, Writer } from '../delivery/writer.js';
import type { InvalidPublishReason } from '../domain/alarm.js';
import {
  type AlarmStateRecord,
  alarmStateText,
  type GivenState,
  givenState,
  parsePublishedState,
  statesText,
} from '../domain/alarm-state.js';
import { derivedId, uuidBytes } from '../domain/ids.js';
import { ALARM_STATES_LEVEL, forwardedTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditAction } from '../site/audit-trail.js';
import { pause, within } from '../site/clock/pause.js';
import type { SiteModel } from '../site/site-model.js';
import type { AccessTokens } from '../site/tokens.js';
import type { HistoryLog } from '../store/history/history-log.js';
import type { PublishDone } from './device-publishes.js';
import type { InvalidPublishes } from './invalid-publishes.js';

/** If the store has not answered for longer, an HTTP request does not wait for it. */
const SLOW_AFTER_MS = 1_000;
const TIMEOUT_MS = 3_000;
const RETRY_AFTER_MS = 250;

const ACTIONS: Readonly<Record<GivenState, AuditAction>> = {
  acknowledged: 'alarm.acknowledged',
  resolved: 'alarm.resolved',
};

/** A state that an access token gives an alarm. */
export interface AlarmStateRequest {
  readonly locationId: string;
  readonly alarmId: string;
  /** Undefined: the newest alarm with the id, should several devices use it. */
  readonly deviceId?: string | undefined;
  readonly state: GivenState;
  readonly note: string | undefined;
  readonly tokenId: string;
  /** Only an alarm that happened in one of these groups; undefined: anywhere in the location. */
  readonly groupIds: readonly string[] | undefined;
  readonly actor: Actor;
}

/** A responder's PUBLISH of a state. */
export interface StatePublish {
  readonly locationId: string;
  readonly deviceId: string;
  readonly topic: string;
  readonly payload: Buffer;
  readonly tokenId: string;
  /** As in `AlarmStateRequest`. */
  readonly groupIds: readonly string[] | undefined;
  readonly actor: Actor;
}

/** Why a state is not given. */
type Refusal = 'unknown-alarm' | 'alarm-resolved';

export interface AlarmStatesOptions {
  readonly model: SiteModel;
  readonly accessTokens: Pick<AccessTokens, 'nameOf'>;
  readonly writer: Pick<Writer, 'append' | 'unstored' | 'unansweredMs'>;
  readonly history: Pick<HistoryLog, 'find'>;
  readonly invalid: Pick<InvalidPublishes, 'reportOfToken'>;
  readonly maxBytes: number;
  readonly now: () => number;
  /** The steady clock. */
  readonly steadyNow: () => number;
}

/**
 * Gives alarms their states, over HTTP and from MQTT, as entries of the history.
 *
 * Reads the alarm and its states, decides, and appends on the condition that the states are still the same; otherwise it
 * reads again.
 */
export class AlarmStates {
  readonly #options: AlarmStatesOptions;
  readonly #stopping = new AbortController();

  constructor(options: AlarmStatesOptions) {
    this.#options = options;
  }

  /** Gives up states that are on their way. */
  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Gives an alarm a state only once, however often it is requested.
   *
   * @returns all states of the alarm
   * @throws GatewayError `alarm-not-found`; `alarm-resolved` if the state would go back; `store-unavailable`, and
   *   then it is unknown whether the change was made
   */
  async change(request: AlarmStateRequest): Promise<AlarmStateRecord> {
    const { writer } = this.#options;
    if (writer.unansweredMs > SLOW_AFTER_MS) throw noAnswer();
    const outcome = await within(this.#give(request), TIMEOUT_MS).catch((cause: unknown) => {
      throw noAnswer(cause);
    });
    if (outcome === undefined) throw noAnswer();
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'unknown-alarm') throw unknownAlarm();
    throw new GatewayError('alarm-resolved', 'The alarm has been resolved.');
  }

  /**
   * Takes a responder's publish.
   *
   * @param done called once the publish may be acknowledged: the state is stored, or is unusable and
   *   reported; with false when it could not be stored
   */
  accept(publish: StatePublish, done: PublishDone): void {
    const { payload } = publish;
    const result =
      payload.length > this.#options.maxBytes
        ? { reason: 'payload-too-large' as const }
        : parsePublishedState(payload);
    if ('reason' in result) {
      this.#report(publish, result.reason, done);
      return;
    }
    const { id: alarmId, ...change } = result.change;
    void this.#untilGiven({ ...publish, ...change, alarmId }).then((outcome) => {
      if (typeof outcome === 'string') this.#report(publish, outcome, done);
      else done(outcome !== undefined);
    });
  }

  /** Undefined when the gateway stops before. */
  async #untilGiven(requested: AlarmStateRequest): Promise<AlarmStateRecord | Refusal | undefined> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const [given] = await Promise.allSettled([this.#give(requested)]);
      if (given.status === 'fulfilled') return given.value;
      await pause(RETRY_AFTER_MS, signal);
    }
    return undefined;
  }

  /**
   * @returns the states of the alarm, or why they stay; undefined when the change could not be stored
   * @throws when the store cannot be read
   */
  async #give(requested: AlarmStateRequest): Promise<AlarmStateRecord | Refusal | undefined> {
    const { history, accessTokens, now } = this.#options;
    const { state, note, tokenId, groupIds } = requested;
    for (;;) {
      await this.#stored(requested);
      const alarm = await history.find(requested);
      const isThere =
        groupIds === undefined || (alarm?.groupId != null && groupIds.includes(alarm.groupId));
      if (alarm === undefined || !isThere) return 'unknown-alarm';
      const by = { id: tokenId, name: accessTokens.nameOf(tokenId) };
      const decided = givenState(alarm.states, state, { by, atMs: now() }, note);
      if (decided === 'unchanged') return alarm.states;
      if (decided === 'alarm-resolved') return decided;
      const number = await this.#append(this.#changeOf(requested, alarm, decided));
      if (number === undefined) return undefined;
      if (number > 0) return decided;
    }
  }

  /** Resolves to the number of the entry; undefined if it could not be stored. */
  #append(change: NewStateChange): Promise<number | undefined> {
    return new Promise((resolve) => {
      this.#options.writer.append(change, (isStored, number) => {
        resolve(isStored ? number : undefined);
      });
    });
  }

  #changeOf(
    { locationId, state, note, actor }: AlarmStateRequest,
    alarm: FoundAlarm,
    record: AlarmStateRecord,
  ): NewStateChange {
    const { id: alarmId, deviceId, kind, sequence, placeText, groupId, statesText: before } = alarm;
    const step = record[state];
    if (step === undefined) throw new Error('a state without its step');
    const { by, atMs } = step;
    const audit = {
      action: ACTIONS[state],
      actor,
      atMs,
      locationId,
      resourceId: alarmId,
      details: { deviceId },
    };
    const change = { id: alarmId, kind, state, by, atMs, note };
    const payload = Buffer.from(alarmStateText(change, placeText.slice(1, -1)));
    return {
      topic: forwardedTopic(locationId, deviceId, `${ALARM_STATES_LEVEL}/${kind}`),
      payload,
      receivedAtMs: this.#options.steadyNow(),
      locationId,
      groupId,
      isNeverLate: true,
      stateChange: {
        id: uuidBytes(derivedId(alarmId, `${deviceId}/${state}`)),
        locationId,
        deviceId,
        alarmId,
        kind,
        sequence,
        placeText,
        state,
        note,
        by,
        atMs,
        before,
        after: statesText(record),
        audit,
      },
    };
  }

  /** Resolves once the alarm is not on its way to the store: somebody may have seen its live copy. */
  async #stored({ locationId, alarmId }: AlarmStateRequest): Promise<void> {
    const isIt = ({ entry }: Unstored) =>
      isAlarm(entry) && entry.alarm.id === alarmId && entry.locationId === locationId;
    while ([...this.#options.writer.unstored()].some(isIt) && !this.#stopping.signal.aborted)
      await pause(RETRY_AFTER_MS, this.#stopping.signal);
  }

  #report(publish: StatePublish, reason: InvalidPublishReason, done: PublishDone): void {
    const { model, invalid, now } = this.#options;
    const { deviceId, locationId, topic, payload } = publish;
    const context = model.context(deviceId);
    const isThere = context?.location.id === locationId;
    const what = { reason, topic, payload, receivedAtMs: now() };
    const told = (isStored: boolean) => done(isStored, reason);
    invalid.reportOfToken(deviceId, isThere ? context : undefined, what, told);
  }
}

function unknownAlarm(): GatewayError {
  return new GatewayError('alarm-not-found', 'There is no such alarm in this location.');
}

function noAnswer(cause?: unknown): GatewayError {
  return new GatewayError('store-unavailable', 'The store does not answer.', { cause });
}
