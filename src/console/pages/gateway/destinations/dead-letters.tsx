import { useState } from 'preact/hooks';
import type { DeadLetter } from '../../../api.js';
import { number, t } from '../../../language.js';
import { FailureText, TimeAgo } from '../../../ui/bits.js';
import { useChange, useLoaded } from '../../../ui/load.js';
import { Dialog } from '../../../ui/old-dialog.js';
import { type Column, List } from '../list.js';
import { textOfBase64 } from '../payload.js';

export const deadLettersOf = (name: string) =>
  t(`Dead letters of ${name}`, `Unzustellbare Nachrichten von ${name}`);

interface DeadLettersProps {
  /** The name of the bridge or webhook. */
  readonly name: string;
  readonly read: () => Promise<readonly DeadLetter[]>;
  /** Sends them again, the oldest first; undefined if this is not possible. */
  readonly sendAgain?: () => Promise<{ readonly sent: number; readonly reason: string | null }>;
  readonly onClose: () => void;
}

/** The messages that a bridge or webhook has permanently failed to deliver. */
export function DeadLetters({ name, read, sendAgain, onClose }: DeadLettersProps) {
  const letters = useLoaded(read, [name]);
  const columns: readonly Column<DeadLetter>[] = [
    { head: t('When', 'Wann'), cell: ({ at }) => <TimeAgo at={at} /> },
    { head: t('Topic', 'Topic'), cell: ({ topic }) => <code class="gateway-id">{topic}</code> },
    { head: t('Reason', 'Grund'), cell: ({ reason }) => reason },
    {
      head: t('Content', 'Inhalt'),
      cell: ({ base64 }) => <code class="gateway-payload">{textOfBase64(base64)}</code>,
    },
  ];
  return (
    <Dialog title={deadLettersOf(name)} onClose={onClose}>
      <List
        title={t('Dead letters', 'Unzustellbare Nachrichten')}
        hint={t(
          'Messages that the receiver refuses for good, the newest first.',
          'Nachrichten, die der Empfänger endgültig ablehnt, die neuesten zuerst.',
        )}
        loaded={letters}
        rows={letters.data}
        keyOf={(letter) => JSON.stringify(letter)}
        columns={columns}
        empty={t('There are none.', 'Es gibt keine.')}
        tools={
          sendAgain !== undefined && (
            <SendAgain
              sendAgain={sendAgain}
              hasSome={letters.data !== undefined && letters.data.length > 0}
              onSent={letters.again}
            />
          )
        }
      />
    </Dialog>
  );
}

interface SendAgainProps extends Required<Pick<DeadLettersProps, 'sendAgain'>> {
  readonly hasSome: boolean;
  readonly onSent: () => void;
}

function SendAgain({ sendAgain, hasSome, onSent }: SendAgainProps) {
  const change = useChange();
  const [said, setSaid] = useState('');
  return (
    <>
      <button
        type="button"
        aria-disabled={change.isPending || !hasSome}
        onClick={() =>
          change.send(sendAgain, ({ sent, reason }) => {
            setSaid(
              reason === null
                ? t(`${number(sent)} delivered.`, `${number(sent)} zugestellt.`)
                : t(
                    `${number(sent)} delivered, then: ${reason}.`,
                    `${number(sent)} zugestellt, dann: ${reason}.`,
                  ),
            );
            onSent();
          })
        }
      >
        {t('Send again', 'Erneut senden')}
      </button>
      <span role="status">{said}</span>
      <FailureText failure={change.failure} />
    </>
  );
}
