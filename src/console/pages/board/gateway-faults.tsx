import type { AdvisedFault } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { useFaults } from '../../live/use-faults.js';
import { hrefTo } from '../../routing.js';
import { dateTime } from '../../ui/time-ago.js';
import type { Language } from '../../words/language.js';
import { BOARD_WORDS } from './board-words.js';

type BoardWords = (typeof BOARD_WORDS)[Language];

const MAX_NAMED = 3;
/** The board names the silent sensors, home by home; a runtime out of support says nothing about alarms. */
const NOT_SHOWN = ['device-silent', 'runtime-unsupported'];
/** A receiver that answers, but takes no alarms. */
const REFUSALS = ['output-failing', 'bridge-refused'];

/** The faults of the gateway: first those that stop it, then who gets no alarms. */
export function GatewayFaults({ isKiosk }: { readonly isKiosk: boolean }) {
  const { session, language } = useConsole();
  const words = useWords(BOARD_WORDS);
  const { data = [] } = useFaults();
  const faults = data.filter((one) => !NOT_SHOWN.includes(one.code) && !isToldOtherwise(one, data));
  if (faults.length === 0) return null;
  const rank = ({ stops, code }: AdvisedFault) => (stops ? 0 : code in words.noAlarms ? 1 : 2);
  const named = faults.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_NAMED);
  const left = faults.length - named.length;
  const isReady = faults.every(({ stops }) => !stops);
  return (
    <p class={isReady ? 'board-offline' : 'board-offline all'} role="status">
      <strong>{isReady ? words.fault : words.notReady}</strong>{' '}
      {named.map((fault) => textOf(fault, words, language.current.value)).join(' ')}
      {left > 0 && ` (${words.andMore(left)})`}{' '}
      {session.isAdmin.value && !isKiosk ? (
        <a href={hrefTo('/gateway')}>{words.showGateway}</a>
      ) : (
        words.tellAboutFault
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
function textOf(fault: AdvisedFault, words: BoardWords, language: Language): string {
  const { code, since, subject } = fault;
  const sentence = words.noAlarms[code];
  if (sentence === undefined) return messageOf(fault);
  const receiver = words.receivers[subject?.type ?? ''];
  const who = receiver === undefined ? words.someReceiver : receiver(subject?.name ?? '');
  return sentence(who, dateTime(since, language));
}

/** The message, with its subject before the full stop. */
function messageOf({ message, subject }: AdvisedFault): string {
  return subject === undefined ? message : message.replace(/\.?$/, ` (${subject.name}).`);
}
