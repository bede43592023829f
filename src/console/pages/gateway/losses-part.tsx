import { useState } from 'preact/hooks';
import { acknowledgeLoss, type Loss, listLosses } from '../../api/generated.js';
import { useConsole, useWords } from '../../console-parts.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { useNumber } from '../../ui/numbers.js';
import { dateTime } from '../../ui/time-ago.js';
import { useLoaded } from '../../ui/use-request.js';
import { type Column, List } from './list.js';
import { LOSSES_WORDS } from './losses-words.js';
import { PrincipalName } from './names.js';

/** What the store has lost, to be acknowledged. */
export function LossesPart() {
  const words = useWords(LOSSES_WORDS);
  const { language } = useConsole();
  const losses = useLoaded(listLosses, []);
  const [asked, setAsked] = useState<Loss>();
  const shown = language.current.value;
  const number = useNumber();
  const columns: readonly Column<Loss>[] = [
    { head: words.noticed, cell: ({ detectedAt }) => dateTime(detectedAt, shown) },
    { head: words.what, cell: ({ what }) => words.kinds[what] },
    {
      head: words.count,
      cell: ({ count }) => (count === null ? words.unknown : words.upTo(number(count))),
    },
    {
      head: words.numbers,
      cell: ({ from, to }) => (to === null ? '–' : `${from ?? '…'} – ${to}`),
    },
    {
      head: words.acknowledged,
      cell: (loss) =>
        loss.acknowledgedAt === null ? (
          <button type="button" onClick={() => setAsked(loss)}>
            {words.acknowledge}
          </button>
        ) : (
          <>
            {dateTime(loss.acknowledgedAt, shown)}
            {loss.acknowledgedBy !== null && (
              <>
                , <PrincipalName type="access-token" id={loss.acknowledgedBy} />
              </>
            )}
          </>
        ),
    },
  ];
  return (
    <>
      <List
        title={words.losses}
        hint={words.hint}
        loaded={losses}
        rows={losses.data}
        keyOf={({ id }) => id}
        columns={columns}
        empty={words.none}
      />
      {asked !== undefined && (
        <ChangeDialog
          title={words.acknowledge}
          submit={words.acknowledge}
          request={() => acknowledgeLoss({ lossId: asked.id })}
          onDone={() => {
            setAsked(undefined);
            losses.again();
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>{words.ask}</p>
        </ChangeDialog>
      )}
    </>
  );
}
