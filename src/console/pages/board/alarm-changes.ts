import { type Failure, failureOf } from '../../api/failure.js';
import { type AlarmStates, acknowledgeAlarm, resolveAlarm } from '../../api/generated.js';
import type { BoardFeed } from './board-feed.js';
import type { OpenAlarm, StateChange } from './open-alarm.js';

/** A change of an alarm's state that a responder asks for. */
interface WantedChange {
  readonly alarm: OpenAlarm;
  readonly state: StateChange['state'];
  /** Empty for none. */
  readonly note: string;
}

/** Asks the gateway for a change. @returns why it refused, where it did */
export type ChangeAlarm = (wanted: WantedChange) => Promise<Failure | undefined>;

/** Asks for changes of alarms; what is shown changes when the gateway has made them. */
export function alarmChanges(
  feed: BoardFeed,
  onChanged: (wanted: WantedChange) => void,
  onRefused: (failure: Failure) => void,
): ChangeAlarm {
  return async (wanted) => {
    const { alarm, state, note } = wanted;
    const request = state === 'resolved' ? resolveAlarm : acknowledgeAlarm;
    const alarmStateChange = note === '' ? {} : { note };
    try {
      const { id: alarmId, location } = alarm;
      const states = await request({ locationId: location.id, alarmId, alarmStateChange });
      feed.changed({ key: alarm.key, ...newestStep(states) });
      onChanged(wanted);
      return undefined;
    } catch (error) {
      const failure = failureOf(error);
      onRefused(failure);
      // What is shown is no longer so.
      if (isOutdated(failure)) feed.readAgain();
      return failure;
    }
  };
}

/** Whether the alarm is in no history any more, perhaps with its home. */
export function isGone(code: string): boolean {
  return code === 'alarm-not-found' || code === 'location-not-found';
}

/** Whether a change was refused because of what became of the alarm meanwhile. */
function isOutdated({ code }: Failure): boolean {
  return code === 'alarm-resolved' || isGone(code);
}

function newestStep(states: AlarmStates): Omit<StateChange, 'key'> {
  const { state, acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt, note } = states;
  const isResolved = state === 'resolved';
  return {
    state: isResolved ? 'resolved' : 'acknowledged',
    by: (isResolved ? resolvedBy : acknowledgedBy)?.name ?? '',
    at: (isResolved ? resolvedAt : acknowledgedAt) ?? '',
    note,
  };
}
