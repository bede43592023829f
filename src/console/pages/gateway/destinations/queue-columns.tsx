import { number, t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import type { Column } from '../list.js';
import { deadLettersOf } from './dead-letters.js';

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
  return [
    {
      head: t('Waiting', 'Wartend'),
      cell: ({ queued }) => (
        <span class={queued > 0 ? 'gateway-waiting' : ''}>{number(queued)}</span>
      ),
    },
    {
      head: t('Oldest waiting', 'Älteste wartende'),
      cell: ({ oldestQueuedAt }) => <TimeOrNone at={oldestQueuedAt} />,
    },
    { head: t('Delivered', 'Zugestellt'), cell: ({ delivered }) => number(delivered) },
    {
      head: t('Dropped', 'Verworfen'),
      cell: ({ dropped: { tooOld, tooMany, refused, lost } }) => (
        <>
          {t(`${number(tooOld)} too old`, `${number(tooOld)} zu alt`)},{' '}
          {t(`${number(tooMany)} too many`, `${number(tooMany)} zu viele`)},{' '}
          <span class={refused > 0 ? 'gateway-waiting' : ''}>
            {t(`${number(refused)} refused`, `${number(refused)} unzustellbar`)}
          </span>
          , {t(`${number(lost)} lost`, `${number(lost)} verloren`)}
        </>
      ),
    },
  ];
}

/** The button that shows the dead letters of a destination. */
export function useDeadLettersColumn(show: (name: string) => void): Column<Destination> {
  return {
    head: t('Dead letters', 'Unzustellbare Nachrichten'),
    cell: ({ name }) => (
      <button type="button" aria-label={deadLettersOf(name)} onClick={() => show(name)}>
        {t('Dead letters', 'Unzustellbare Nachrichten')}
      </button>
    ),
  };
}

export function TimeOrNone({ at }: { readonly at: string | null }) {
  return at === null ? <>–</> : <TimeAgo at={at} />;
}
