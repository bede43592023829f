import { isAlarm } from '../delivery/log/log-entry.js';
import type { AlarmLogItem, ReceivedIdentifier, StateOutcome } from '../delivery/log/log-item.js';
import type { LogWriter } from '../delivery/log/log-writer.js';
import { type AlarmStateRecord, parsePublishedState } from '../domain/alarm-states.js';
import type { InvalidPublishReason } from '../domain/alarms.js';
import { ALARM_STATES_LEVEL, forwardedTopic } from '../domain/topics.js';
import { GatewayError } from '../errors.js';
import type { AccessTokens } from '../site/access/access-tokens.js';
import type { AlarmHistory } from '../site/alarms/alarm-history.js';
import type { AlarmStateChanges, AlarmStateRequest } from '../site/alarms/alarm-states.js';
import type { Actor } from '../site/audit-trail.js';
import { within } from '../site/clock/pause.js';
import type { SiteModel } from '../site/site-model.js';
import type { InvalidPublishes } from './invalid-publishes.js';
import type { PublishDone } from './publish-done.js';

/** If the store has not answered for longer, an HTTP request does not wait for it. */
const SLOW_AFTER_MS = 1_000;
const TIMEOUT_MS = 3_000;
const NOTHING = Buffer.alloc(0);

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
  readonly received: ReceivedIdentifier | undefined;
}

export interface AlarmStatesOptions {
  readonly model: SiteModel;
  readonly accessTokens: Pick<AccessTokens, 'nameOf'>;
  readonly alarms: LogWriter<AlarmLogItem>;
  readonly history: Pick<AlarmHistory, 'find'>;
  readonly invalid: Pick<InvalidPublishes, 'reportOfToken'>;
  readonly maxBytes: number;
  readonly now: () => number;
  /** The steady clock. */
  readonly steadyNow: () => number;
}

type Requested = Omit<AlarmStateRequest, 'locationId'> &
  Pick<StatePublish, 'locationId' | 'deviceId'>;

/** Takes states of alarms, over HTTP and from MQTT, into the log of alarms. */
export class AlarmStates implements AlarmStateChanges {
  readonly #options: AlarmStatesOptions;

  constructor(options: AlarmStatesOptions) {
    this.#options = options;
  }

  async change(request: AlarmStateRequest): Promise<AlarmStateRecord> {
    const { alarms, history } = this.#options;
    const { locationId, alarmId } = request;
    if (alarms.unansweredMs > SLOW_AFTER_MS) throw noAnswer();
    const deviceId =
      this.#deviceOfUnstored(request) ?? (await history.find({ locationId, alarmId }))?.device.id;
    if (deviceId === undefined) throw unknownAlarm();
    const outcome = await this.#appendAndWait({ ...request, deviceId });
    if ('record' in outcome) return outcome.record;
    if (outcome.refused === 'unknown-alarm') throw unknownAlarm();
    throw new GatewayError('alarm-resolved', 'The alarm has been resolved.');
  }

  /**
   * Takes a responder's publish.
   *
   * @param done called once the publish may be acknowledged: the state is stored, or is unusable and
   *   reported; with false when it could not be stored
   */
  accept(publish: StatePublish, done: PublishDone): void {
    const { payload, received } = publish;
    const result =
      payload.length > this.#options.maxBytes
        ? { reason: 'payload-too-large' as const }
        : parsePublishedState(payload);
    if ('reason' in result) {
      this.#report(publish, result.reason, done);
      return;
    }
    const { id: alarmId, ...change } = result.change;
    let refused: InvalidPublishReason | undefined;
    const onOutcome = (outcome: StateOutcome) => {
      refused = 'refused' in outcome ? outcome.refused : undefined;
    };
    this.#append({ ...publish, ...change, alarmId }, received, onOutcome, (isStored) => {
      if (isStored && refused !== undefined) this.#report(publish, refused, done);
      else done(isStored);
    });
  }

  #append(
    requested: Requested,
    received: ReceivedIdentifier | undefined,
    onOutcome: (outcome: StateOutcome) => void,
    done: PublishDone,
  ): void {
    const { alarms, accessTokens, now, steadyNow } = this.#options;
    const { locationId, deviceId, alarmId, state, note, tokenId, groupIds, actor } = requested;
    const by = { id: tokenId, name: accessTokens.nameOf(tokenId) };
    const place = { locationId, deviceId, alarmId };
    alarms.append(
      {
        topic: forwardedTopic(locationId, deviceId, ALARM_STATES_LEVEL),
        payload: NOTHING,
        receivedAtMs: steadyNow(),
        received,
        locationId,
        groupId: null,
        stateChange: { ...place, state, note, by, atMs: now(), groupIds, actor },
        onOutcome,
      },
      done,
    );
  }

  async #appendAndWait(requested: Requested): Promise<StateOutcome> {
    const appended = new Promise<StateOutcome | undefined>((resolve) => {
      let outcome: StateOutcome | undefined;
      const onOutcome = (made: StateOutcome) => {
        outcome = made;
      };
      this.#append(requested, undefined, onOutcome, () => resolve(outcome));
    });
    const outcome = await within(appended, TIMEOUT_MS);
    if (outcome === undefined) throw noAnswer();
    return outcome;
  }

  /** The device of an alarm on its way to the store: somebody may have seen its live copy. */
  #deviceOfUnstored({ locationId, alarmId }: AlarmStateRequest): string | undefined {
    for (const { item } of this.#options.alarms.unstored()) {
      if (isAlarm(item) && item.alarm.id === alarmId && item.locationId === locationId) {
        return item.context.device.id;
      }
    }
    return undefined;
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

function noAnswer(): GatewayError {
  return new GatewayError('store-unavailable', 'The store does not answer.');
}
