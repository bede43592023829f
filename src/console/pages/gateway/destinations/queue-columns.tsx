import { useWords } from '../../../console-parts.js';
import { useNumber } from '../../../ui/numbers.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import type { Column } from '../list.js';
import { DESTINATIONS_WORDS } from './destinations-words.js';

/** What bridges and webhooks have in common. */
interface Destination {
  readonly name: string;
  readonly queued: number;
  readonly oldestQueuedAt: string | null;
  readonly delivered: number;
  readonly dropped: Readonly<Record<'tooOld' | 'tooMany' | 'refused' | 'lost', number>>;
}

/** The columns of a destination's queue: waiting, delivered, dropped. */
export function useQueueColumns(): readonly Column<Destination>[] {
  const words = useWords(DESTINATIONS_WORDS);
  const number = useNumber();
  return [
    {
      head: words.waiting,
      cell: ({ queued }) => (
        <span class={queued > 0 ? 'gateway-waiting' : ''}>{number(queued)}</span>
      ),
    },
    { head: words.oldest, cell: ({ oldestQueuedAt }) => <TimeOrNone at={oldestQueuedAt} /> },
    { head: words.delivered, cell: ({ delivered }) => number(delivered) },
    {
      head: words.dropped,
      cell: ({ dropped: { tooOld, tooMany, refused, lost } }) => (
        <>
          {words.tooOld(number(tooOld))}, {words.tooMany(number(tooMany))},{' '}
          <span class={refused > 0 ? 'gateway-waiting' : ''}>{words.refused(number(refused))}</span>
          , {words.lost(number(lost))}
        </>
      ),
    },
  ];
}

/** The button that shows the dead letters of a destination. */
export function useDeadLettersColumn(show: (name: string) => void): Column<Destination> {
  const words = useWords(DESTINATIONS_WORDS);
  return {
    head: words.deadLetters,
    cell: ({ name }) => (
      <button type="button" aria-label={words.deadLettersOf(name)} onClick={() => show(name)}>
        {words.deadLetters}
      </button>
    ),
  };
}

export function TimeOrNone({ at }: { readonly at: string | null }) {
  return at === null ? <>–</> : <TimeAgo at={at} />;
}
