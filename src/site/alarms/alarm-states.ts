import type { AlarmStateRecord, GivenState } from '../../domain/alarm-state.js';
import type { Actor } from '../audit-trail.js';

/** A state that an access token gives an alarm. */
export interface AlarmStateRequest {
  readonly locationId: string;
  readonly alarmId: string;
  readonly state: GivenState;
  readonly note: string | undefined;
  readonly tokenId: string;
  /** Only an alarm that happened in one of these groups; undefined: anywhere in the location. */
  readonly groupIds: readonly string[] | undefined;
  readonly actor: Actor;
}

/** Gives alarms their states. */
export interface AlarmStateChanges {
  /**
   * Gives an alarm a state only once, however often it is requested.
   *
   * @returns all states of the alarm
   * @throws GatewayError `alarm-not-found`; `alarm-resolved` if the state would go back; `store-unavailable`, and
   *   then it is unknown whether the change was made
   */
  change(request: AlarmStateRequest): Promise<AlarmStateRecord>;
}
