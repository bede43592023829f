/**
 * The steps that a responder takes: acknowledge at once, resolve after ten seconds in which it can be undone, for the
 * gateway takes none back. The board shows a step once the gateway has taken it.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { type AlarmStates, acknowledgeAlarm, resolveAlarm } from '../api.js';
import { t } from '../language.js';
import { type Failure, failureOf } from '../request.js';
import { session } from '../session.js';
import { alarmTitle, type OpenAlarm, type Step, stepOfAnswer } from './alarm.js';
import { openAlarms } from './open-alarms.js';

/** How long a resolve can be undone before it is sent. */
const UNDO_MS = 10_000;
/** Requests at a time: a browser opens at most six connections, and one of them is the live feed. */
const MAX_AT_ONCE = 3;

/** What a responder wants for alarms of one row. */
interface WantedStep {
  readonly alarms: readonly OpenAlarm[];
  readonly state: Step['state'];
  /** Empty for none. */
  readonly note: string;
  /** Called with each answer of the gateway. */
  readonly onStep?: ((states: AlarmStates) => void) | undefined;
}

/** Whether the resolve of an alarm can still be undone, or has been sent and waits for its answer. */
type Resolving = 'waiting' | 'sent';

const states = signal<ReadonlyMap<string, Resolving>>(new Map());
/** Ends the wait of a resolve: it sends or undoes it before it returns. */
type Settle = (isWanted: boolean, atOnce?: number) => void;

const settlers = new Map<string, Settle>();
const said = signal('');

/** The resolves that are under way, by the keys of their alarms. */
export const resolving: ReadonlySignal<ReadonlyMap<string, Resolving>> = states;

/** The outcome of the last step, in words; empty if there is nothing to say. */
export const outcome: ReadonlySignal<string> = said;

/**
 * Takes a step for each of the alarms.
 *
 * @returns why the gateway refused one, if it did, or `undone`
 */
export function takeStep(wanted: WantedStep): Promise<Failure | 'undone' | undefined> {
  if (wanted.state === 'acknowledged') return sendAll(wanted, MAX_AT_ONCE);
  const keys = wanted.alarms.map(({ key }) => key);
  return new Promise((resolve) => {
    const settle: Settle = (isWanted, atOnce = MAX_AT_ONCE) => {
      clearTimeout(timer);
      for (const key of keys) settlers.delete(key);
      show(keys, isWanted ? 'sent' : undefined);
      if (isWanted) resolve(sendAll(wanted, atOnce).finally(() => show(keys, undefined)));
      else resolve('undone');
    };
    const timer = setTimeout(() => settle(true), UNDO_MS);
    for (const key of keys) settlers.set(key, settle);
    show(keys, 'waiting');
  });
}

/** Takes back the resolve of an alarm, and of all that were resolved with it. */
export function undo(key: string): void {
  settlers.get(key)?.(false);
}

/** Sends what waits for its undo before it returns: the page or the token may be gone a moment later. */
function sendWaiting(): void {
  for (const settle of new Set(settlers.values())) settle(true, Number.POSITIVE_INFINITY);
}

/** Sends waiting resolves when the page or the console is left, or the user signs out. */
export function useSentOnLeave(): void {
  // An effect after the next frame would be too late for somebody who leaves at once.
  useLayoutEffect(() => {
    addEventListener('pagehide', sendWaiting);
    const endListening = session.beforeSignOut(sendWaiting);
    return () => {
      removeEventListener('pagehide', sendWaiting);
      endListening();
      sendWaiting();
      said.value = '';
    };
  }, []);
}

function show(keys: readonly string[], state: Resolving | undefined): void {
  const changed = new Map(states.peek());
  for (const key of keys) {
    if (state === undefined) changed.delete(key);
    else changed.set(key, state);
  }
  states.value = changed;
}

/** Sends the first requests before it returns. A refusal ends it, unless somebody else was first. */
async function sendAll(wanted: WantedStep, atOnce: number): Promise<Failure | undefined> {
  const waiting = [...wanted.alarms];
  let failure: Failure | undefined;
  const work = async () => {
    for (;;) {
      const alarm = failure === undefined || isOutdated(failure) ? waiting.shift() : undefined;
      if (alarm === undefined) return;
      failure = (await send(alarm, wanted)) ?? failure;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, work));
  return failure;
}

/** @returns why the gateway refused it, if it did */
async function send(alarm: OpenAlarm, wanted: WantedStep): Promise<Failure | undefined> {
  const { state, note, onStep } = wanted;
  const request = state === 'resolved' ? resolveAlarm : acknowledgeAlarm;
  const at = { locationId: alarm.location.id, alarmId: alarm.id, device: alarm.device.id };
  try {
    // With `keepalive` the browser sends it even if the page is left at this moment.
    const answer = await request(at, note === '' ? {} : { note }, { keepalive: true });
    openAlarms.step(stepOfAnswer(alarm.key, answer));
    onStep?.(answer);
    const title = alarmTitle(alarm);
    said.value = state === 'resolved' ? t(`Resolved: ${title}`, `Erledigt: ${title}`) : '';
    if (note !== '' && answer.note !== note) said.value = noteLost();
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    if (isOutdated(failure)) {
      said.value = outdatedText(failure);
      openAlarms.readAgain();
    }
    return failure;
  }
}

const noteLost = () =>
  t(
    'Somebody else was first: your note was not saved.',
    'Jemand war schneller: Ihre Notiz wurde nicht gespeichert.',
  );

/** Whether a change was refused because the alarm has changed meanwhile, or is gone with its home. */
function isOutdated({ code }: Failure): boolean {
  return ['alarm-resolved', 'alarm-not-found', 'location-not-found'].includes(code);
}

function outdatedText({ code }: Failure): string {
  return code === 'alarm-resolved'
    ? t('Somebody has resolved this alarm already.', 'Dieser Alarm ist schon erledigt.')
    : t('This alarm is no longer in the history.', 'Dieser Alarm steht nicht mehr im Verlauf.');
}
