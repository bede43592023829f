import { useState } from 'preact/hooks';
import type { DeadLetter } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { Dialog } from '../../../ui/dialog.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useNumber } from '../../../ui/numbers.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { useChange, useLoaded } from '../../../ui/use-request.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { textOfBase64 } from '../payload.js';
import { DESTINATIONS_WORDS } from './destinations-words.js';

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
  const words = useWords(DESTINATIONS_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const letters = useLoaded(read, [name]);
  const columns: readonly Column<DeadLetter>[] = [
    { head: common.when, cell: ({ at }) => <TimeAgo at={at} /> },
    { head: common.topic, cell: ({ topic }) => <code class="gateway-id">{topic}</code> },
    { head: common.reason, cell: ({ reason }) => reason },
    {
      head: common.payload,
      cell: ({ base64 }) => <code class="gateway-payload">{textOfBase64(base64)}</code>,
    },
  ];
  return (
    <Dialog title={words.deadLettersOf(name)} onClose={onClose}>
      <List
        title={words.deadLetters}
        hint={words.deadLettersHint}
        loaded={letters}
        rows={letters.data}
        keyOf={(letter) => JSON.stringify(letter)}
        columns={columns}
        empty={words.noDeadLetters}
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
  const words = useWords(DESTINATIONS_WORDS);
  const number = useNumber();
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
              reason === null ? words.sent(number(sent)) : words.sentUntil(number(sent), reason),
            );
            onSent();
          })
        }
      >
        {words.sendAgain}
      </button>
      <span role="status">{said}</span>
      <FailureText failure={change.failure} />
    </>
  );
}
