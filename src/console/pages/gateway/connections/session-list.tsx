import { listSessions, type StoredSession } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { useNumber } from '../../../ui/numbers.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { CONNECTIONS_WORDS } from './connections-words.js';

/** The persistent sessions with the largest backlogs. */
export function SessionList() {
  const words = useWords(CONNECTIONS_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const names = useNames();
  const sessions = useRefreshed(listSessions, []);
  const number = useNumber();
  const columns: readonly Column<StoredSession>[] = [
    { head: common.who, cell: ({ principal }) => <PrincipalName {...principal} /> },
    { head: common.clientId, cell: ({ clientId }) => <code class="gateway-id">{clientId}</code> },
    { head: words.state, cell: (session) => <State session={session} /> },
    {
      head: words.waitingAlarms,
      cell: ({ backlog: { alarms } }) => (
        <span class={alarms > 0 ? 'gateway-waiting' : ''}>{number(alarms)}</span>
      ),
    },
    { head: words.waitingMessages, cell: ({ backlog }) => number(backlog.messages) },
    {
      head: words.oldest,
      cell: ({ oldestQueuedAt }) =>
        oldestQueuedAt === null ? '–' : <TimeAgo at={oldestQueuedAt} />,
    },
  ];
  const { data } = sessions;
  return (
    <List
      title={words.waiting}
      hint={words.waitingHint}
      loaded={sessions}
      rows={data?.sessions}
      keyOf={({ principal, clientId }) => `${principal.type} ${principal.id} ${clientId}`}
      columns={columns}
      textOf={({ clientId, principal: { id } }) =>
        `${clientId} ${id} ${names.tokens.value.get(id) ?? names.devices.value.get(id) ?? ''}`
      }
      empty={words.noSessions}
      tools={<PauseButton refreshed={sessions} />}
      foot={
        data !== undefined &&
        data.total > 0 && <p class="hint">{words.sessionsOf(data.sessions.length, data.total)}</p>
      }
    />
  );
}

function State({ session: { connected, awaySince } }: { readonly session: StoredSession }) {
  const words = useWords(CONNECTIONS_WORDS);
  if (connected) return <span class="gateway-good">{words.connected}</span>;
  return (
    <span class="gateway-bad">
      {words.away}
      {awaySince !== null && (
        <>
          , <TimeAgo at={awaySince} />
        </>
      )}
    </span>
  );
}
