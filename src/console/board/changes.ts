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
/** A browser refuses requests with `keepalive` beyond a few hundred. */
const MAX_KEPT_ALIVE = 100;
/** An outcome that stays would seem to be that of the next alarm in the room. */
const SAID_FOR_MS = 20_000;

/** A change that a responder has asked for, to some or all alarms of one row. */
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
type Settle = (isWanted: boolean) => void;

const settlers = new Map<string, Settle>();
/** Each sends before it returns what else there is to send of a step. */
const unsent = new Set<() => void>();
let keptAlive = 0;
const said = signal('');
let saidTimer: ReturnType<typeof setTimeout> | undefined;

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
  if (wanted.state === 'acknowledged') return sendAll(wanted);
  const keys = wanted.alarms.map(({ key }) => key);
  return new Promise((resolve) => {
    const settle: Settle = (isWanted) => {
      clearTimeout(timer);
      for (const key of keys) settlers.delete(key);
      show(keys, isWanted ? 'sent' : undefined);
      if (isWanted) resolve(sendAll(wanted).finally(() => show(keys, undefined)));
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

function sendWaiting(): void {
  for (const settle of new Set(settlers.values())) settle(true);
}

/** Sends before it returns all that is to be sent: the console or the token may be gone a moment later. */
function sendAtOnce(): void {
  sendWaiting();
  for (const sendRest of unsent) sendRest();
}

/** Sends waiting resolves when the page is left. */
export function useSentOnLeave(): void {
  useLayoutEffect(
    () => () => {
      sendWaiting();
      say('');
    },
    [],
  );
}

/** Sends all that is to be sent when the console is left, or the user signs out. @returns a function that ends this */
export function sendBeforeEnd(): () => void {
  addEventListener('pagehide', sendAtOnce);
  const endListening = session.beforeSignOut(sendAtOnce);
  return () => {
    removeEventListener('pagehide', sendAtOnce);
    endListening();
  };
}

function say(text: string): void {
  clearTimeout(saidTimer);
  said.value = text;
  saidTimer = setTimeout(() => {
    said.value = '';
  }, SAID_FOR_MS);
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
async function sendAll(wanted: WantedStep): Promise<Failure | undefined> {
  const waiting = [...wanted.alarms];
  let failure: Failure | undefined;
  const work = async () => {
    for (;;) {
      const alarm = failure === undefined || isOutdated(failure) ? waiting.shift() : undefined;
      if (alarm === undefined) return;
      failure = (await send(alarm, wanted)) ?? failure;
    }
  };
  const sendRest = () => {
    for (let rest = waiting.length; rest > 0; rest--) void work();
  };
  unsent.add(sendRest);
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  unsent.delete(sendRest);
  return failure;
}

/** @returns why the gateway refused it, if it did */
async function send(alarm: OpenAlarm, wanted: WantedStep): Promise<Failure | undefined> {
  const { state, note, onStep } = wanted;
  const request = state === 'resolved' ? resolveAlarm : acknowledgeAlarm;
  const at = { locationId: alarm.location.id, alarmId: alarm.id, device: alarm.device.id };
  // The browser sends it even if the page is left at this moment.
  const keepalive = keptAlive < MAX_KEPT_ALIVE;
  if (keepalive) keptAlive += 1;
  try {
    const answer = await request(at, note === '' ? {} : { note }, { keepalive });
    openAlarms.step(stepOfAnswer(alarm.key, answer));
    onStep?.(answer);
    const title = alarmTitle(alarm);
    if (note !== '' && answer.note !== note) say(noteLost());
    else say(state === 'resolved' ? t(`Resolved: ${title}`, `Erledigt: ${title}`) : '');
    return undefined;
  } catch (error) {
    const failure = failureOf(error);
    if (isOutdated(failure)) {
      say(outdatedText(failure));
      openAlarms.readAgain();
    }
    return failure;
  } finally {
    if (keepalive) keptAlive -= 1;
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
