import type { AdvisedFault } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { dateTime, t } from '../../language.js';
import { useFaults } from '../../live/use-faults.js';
import { hrefTo } from '../../place.js';
import { andMore } from './alarms/alarm-title.js';

const MAX_NAMED = 3;
/** The board names the silent sensors, home by home; a runtime out of support says nothing about alarms. */
const NOT_SHOWN = ['device-silent', 'runtime-unsupported'];
/** A receiver that answers, but takes no alarms. */
const REFUSALS = ['output-failing', 'bridge-refused'];
/** Somebody gets no alarms. */
const NO_ALARMS = ['alarms-waiting', ...REFUSALS];

/** The faults of the gateway: first those that stop it, then who gets no alarms. */
export function GatewayFaults({ isKiosk }: { readonly isKiosk: boolean }) {
  const { session } = useConsole();
  const { data = [] } = useFaults();
  const faults = data.filter((one) => !NOT_SHOWN.includes(one.code) && !isToldOtherwise(one, data));
  if (faults.length === 0) return null;
  const rank = ({ stops, code }: AdvisedFault) => (stops ? 0 : NO_ALARMS.includes(code) ? 1 : 2);
  const named = faults.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_NAMED);
  const left = faults.length - named.length;
  const isReady = faults.every(({ stops }) => !stops);
  return (
    <p class={isReady ? 'board-offline' : 'board-offline all'} role="status">
      <strong>
        {isReady
          ? t('Fault of the gateway:', 'Störung des Gateways:')
          : t('The gateway is not ready:', 'Das Gateway ist nicht bereit:')}
      </strong>{' '}
      {named.map((fault) => textOf(fault)).join(' ')}
      {left > 0 && ` (${andMore(left)})`}{' '}
      {session.isAdmin.value && !isKiosk ? (
        <a href={hrefTo('/gateway')}>{t('What to do', 'Was zu tun ist')}</a>
      ) : (
        t(
          'Please tell the person who looks after the gateway.',
          'Bitte geben Sie der Technik Bescheid.',
        )
      )}
    </p>
  );
}

/** Whether alarms wait for a receiver that is named already, for it refuses them. */
function isToldOtherwise({ code, subject }: AdvisedFault, all: readonly AdvisedFault[]): boolean {
  if (code !== 'alarms-waiting' || subject === undefined) return false;
  return all.some((other) => REFUSALS.includes(other.code) && other.subject?.id === subject.id);
}

/** Who gets no alarms, and since when, in a nurse's words; anything else in those of the gateway. */
function textOf(fault: AdvisedFault): string {
  const since = dateTime(fault.since);
  const who = receiverOf(fault);
  if (fault.code === 'alarms-waiting')
    return t(
      `${who} has got no alarms since ${since}.`,
      `${who} bekommt seit ${since} keine Alarme.`,
    );
  if (REFUSALS.includes(fault.code))
    return t(
      `${who} has taken no alarms since ${since}.`,
      `${who} nimmt seit ${since} keine Alarme an.`,
    );
  return messageOf(fault);
}

/** Who gets alarms, by the type of the fault's subject. */
function receiverOf({ subject }: AdvisedFault): string {
  const name = subject?.name ?? '';
  if (subject?.type === 'session') return t(`The nurse call ${name}`, `Die Rufanlage ${name}`);
  if (subject?.type === 'bridge')
    return t(`The system behind the bridge ${name}`, `Das System hinter der Brücke ${name}`);
  if (subject?.type === 'webhook') return t(`The receiver ${name}`, `Der Empfänger ${name}`);
  return t('A nurse call or another receiver', 'Eine Rufanlage oder ein anderer Empfänger');
}

/** The message, with its subject before the full stop. */
function messageOf({ message, subject }: AdvisedFault): string {
  return subject === undefined ? message : message.replace(/\.?$/, ` (${subject.name}).`);
}
