import { type AlarmStates, acknowledgeAlarm, resolveAlarm } from '../../api.js';
import { type Failure, failureOf } from '../../request.js';
import type { DelayedResolves } from './delayed-resolves.js';
import type { OpenAlarm, StateChange } from './open-alarm.js';

/** A change of an alarm's state requested by a responder. */
interface WantedChange {
  readonly alarm: OpenAlarm;
  readonly state: StateChange['state'];
  /** Empty for none. */
  readonly note: string;
}

/** Asks the gateway for a change. @returns why the gateway refused it, if it did; `undone` if it was not asked */
export type ChangeAlarm = (wanted: WantedChange) => Promise<Failure | 'undone' | undefined>;

/** Where the alarms are shown. */
interface ShownAlarms {
  /** Takes a state from the gateway's answer. */
  changed(change: StateChange): void;
  /** Reads the alarms again: what is shown is out of date. */
  readAgain(): void;
}

interface AlarmChangesOptions {
  readonly shown: ShownAlarms;
  readonly resolves: DelayedResolves;
  readonly onChanged?: (wanted: WantedChange) => void;
  readonly onRefused?: (failure: Failure) => void;
  /** Called when somebody else had made the change before, so that the note was not taken. */
  readonly onNoteLost?: () => void;
}

/** Requests changes of alarms, a resolve after a delay; what is shown changes once the gateway has made them. */
export function alarmChanges(options: AlarmChangesOptions): ChangeAlarm {
  return (wanted) => {
    const send = () => sendChange(wanted, options);
    if (wanted.state !== 'resolved') return send();
    return options.resolves.delay(wanted.alarm.key, send);
  };
}

async function sendChange(
  wanted: WantedChange,
  { shown, onChanged, onRefused, onNoteLost }: AlarmChangesOptions,
): Promise<Failure | undefined> {
  const { alarm, state, note } = wanted;
  const request = state === 'resolved' ? resolveAlarm : acknowledgeAlarm;
  const body = note === '' ? {} : { note };
  const { id: alarmId, location } = alarm;
  try {
    // With `keepalive` the browser sends it even if the page is left at this moment.
    const states = await request({ locationId: location.id, alarmId }, body, { keepalive: true });
    shown.changed({ key: alarm.key, ...newestStep(states) });
    onChanged?.(wanted);
    if (note !== '' && states.note !== note) onNoteLost?.();
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    onRefused?.(failure);
    if (isOutdated(failure)) shown.readAgain();
    return failure;
  }
}

/** Whether the alarm, perhaps with its home, is gone from the history. */
export function isGone(code: string): boolean {
  return code === 'alarm-not-found' || code === 'location-not-found';
}

/** Whether a change was refused because the alarm has changed meanwhile. */
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
