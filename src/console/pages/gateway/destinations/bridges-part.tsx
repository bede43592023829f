import { useState } from 'preact/hooks';
import { type Bridge, deleteBridge, listBridges, listDeadLetters } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { useNumber } from '../../../ui/numbers.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { type Column, List } from '../list.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { BRIDGES_WORDS } from './bridges-words.js';
import { DeadLetters } from './dead-letters.js';
import { DESTINATIONS_WORDS } from './destinations-words.js';
import { TimeOrNone, useDeadLettersColumn, useQueueColumns } from './queue-columns.js';

/** The bridges to other brokers, with their queues. */
export function BridgesPart() {
  const words = useWords(BRIDGES_WORDS);
  const common = useWords(DESTINATIONS_WORDS);
  const bridges = useRefreshed(listBridges, []);
  const [opened, setOpened] = useState<string>();
  const [removed, setRemoved] = useState<Bridge>();
  const number = useNumber();
  const queueColumns = useQueueColumns();
  const deadLetters = useDeadLettersColumn(setOpened);
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
      head: common.state,
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
    ...queueColumns,
    {
      head: words.acknowledged,
      cell: ({ lastAcknowledgedAt }) => <TimeOrNone at={lastAcknowledgedAt} />,
    },
    { head: common.lastError, cell: ({ lastError }) => <LastError error={lastError} /> },
    deadLetters,
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
      {opened !== undefined && (
        <DeadLetters
          name={opened}
          read={() => listDeadLetters({ name: opened })}
          onClose={() => setOpened(undefined)}
        />
      )}
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

function State({ bridge: { url, state, connected, connectedSince } }: { readonly bridge: Bridge }) {
  const words = useWords(BRIDGES_WORDS);
  if (url === null) return <span class="gateway-bad">{words.missing}</span>;
  if (state === 'refusing') return <span class="gateway-bad">{words.refusing}</span>;
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
  const common = useWords(DESTINATIONS_WORDS);
  if (error === null) return <>{common.noError}</>;
  return (
    <>
      {words.kinds[error.kind] ?? error.kind} ({error.detail}), <TimeAgo at={error.at} />
    </>
  );
}
