import { useState } from 'preact/hooks';
import {
  type Bridge,
  type DeadLetter,
  deleteBridge,
  listBridges,
  listDeadLetters,
} from '../../api/generated.js';
import { useWords } from '../../console-parts.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { Dialog } from '../../ui/dialog.js';
import { useNumber } from '../../ui/numbers.js';
import { TimeAgo } from '../../ui/time-ago.js';
import { useLoaded } from '../../ui/use-request.js';
import { BRIDGES_WORDS } from './bridges-words.js';
import { GATEWAY_WORDS } from './gateway-words.js';
import { type Column, List } from './list.js';
import { PauseButton } from './pause-button.js';
import { textOfBase64 } from './payload.js';
import { useRefreshed } from './use-refreshed.js';

/** The bridges to other brokers, with what waits for each. */
export function BridgesPart() {
  const words = useWords(BRIDGES_WORDS);
  const bridges = useRefreshed(listBridges, []);
  const [opened, setOpened] = useState<string>();
  const [removed, setRemoved] = useState<Bridge>();
  const number = useNumber();
  const columns: readonly Column<Bridge>[] = [
    {
      head: words.name,
      cell: ({ name, url }) => (
        <>
          <strong>{name}</strong> <code class="gateway-id">{url}</code>
        </>
      ),
    },
    {
      head: words.state,
      cell: (bridge) => (
        <>
          <State bridge={bridge} />{' '}
          {bridge.url === null && (
            <button type="button" class="danger" onClick={() => setRemoved(bridge)}>
              {words.removeOf(bridge.name)}
            </button>
          )}
        </>
      ),
    },
    {
      head: words.waiting,
      cell: ({ queued }) => (
        <span class={queued > 0 ? 'gateway-waiting' : ''}>{number(queued)}</span>
      ),
    },
    { head: words.oldest, cell: ({ oldestQueuedAt }) => <Time at={oldestQueuedAt} /> },
    { head: words.delivered, cell: ({ delivered }) => number(delivered) },
    {
      head: words.acknowledged,
      cell: ({ lastAcknowledgedAt }) => <Time at={lastAcknowledgedAt} />,
    },
    {
      head: words.dropped,
      cell: ({ dropped: { tooOld, tooMany, refused, lost } }) =>
        [
          words.tooOld(number(tooOld)),
          words.tooMany(number(tooMany)),
          words.refused(number(refused)),
          words.lost(number(lost)),
        ].join(', '),
    },
    { head: words.lastError, cell: ({ lastError }) => <LastError error={lastError} /> },
    {
      head: words.deadLetters,
      cell: ({ name }) => (
        <button
          type="button"
          aria-label={words.deadLettersOf(name)}
          onClick={() => setOpened(name)}
        >
          {words.deadLetters}
        </button>
      ),
    },
  ];
  return (
    <>
      <List
        title={words.bridges}
        hint={words.hint}
        loaded={bridges}
        rows={bridges.data}
        keyOf={({ name }) => name}
        columns={columns}
        textOf={({ name, url }) => `${name} ${url ?? ''}`}
        empty={words.none}
        tools={<PauseButton refreshed={bridges} />}
      />
      {opened !== undefined && <DeadLetters name={opened} onClose={() => setOpened(undefined)} />}
      {removed !== undefined && (
        <ChangeDialog
          title={words.removeOf(removed.name)}
          submit={words.remove}
          isDangerous
          request={() => deleteBridge({ name: removed.name })}
          onDone={() => {
            setRemoved(undefined);
            bridges.again();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>{words.removeAsk(number(removed.queued))}</p>
        </ChangeDialog>
      )}
    </>
  );
}

function Time({ at }: { readonly at: string | null }) {
  return at === null ? <>–</> : <TimeAgo at={at} />;
}

function State({ bridge: { url, connected, connectedSince } }: { readonly bridge: Bridge }) {
  const words = useWords(BRIDGES_WORDS);
  if (url === null) return <span class="gateway-bad">{words.missing}</span>;
  if (!connected) return <span class="gateway-bad">{words.down}</span>;
  return (
    <span class="gateway-good">
      {words.connected}
      {connectedSince !== null && (
        <>
          , <TimeAgo at={connectedSince} />
        </>
      )}
    </span>
  );
}

function LastError({ error }: { readonly error: Bridge['lastError'] }) {
  const words = useWords(BRIDGES_WORDS);
  if (error === null) return <>{words.noError}</>;
  return (
    <>
      {words.kinds[error.kind] ?? error.kind} ({error.detail}), <TimeAgo at={error.at} />
    </>
  );
}

interface DeadLettersProps {
  readonly name: string;
  readonly onClose: () => void;
}

function DeadLetters({ name, onClose }: DeadLettersProps) {
  const words = useWords(BRIDGES_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const letters = useLoaded(() => listDeadLetters({ name }), [name]);
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
      />
    </Dialog>
  );
}
