import { useState } from 'preact/hooks';
import { type Connection, listConnections } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { CursorButtons, useCursorPages } from '../page-buttons.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';
import { CONNECTIONS_WORDS } from './connections-words.js';

/** A search reads up to this many pages: by default a gateway has at most 10,000 connections. */
const MAX_PAGES = 100;

interface Read {
  readonly connections: readonly Connection[];
  readonly nextCursor: string | null;
}

/** Who is connected over MQTT: a page of 100, or all during a search. */
export function OpenConnectionList() {
  const words = useWords(CONNECTIONS_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const names = useNames();
  const pages = useCursorPages();
  const [isSearching, setSearching] = useState(false);
  const read = () => (isSearching ? readAll() : readPage(pages.cursor));
  const connections = useRefreshed(read, [pages.cursor, isSearching]);
  const columns: readonly Column<Connection>[] = [
    { head: common.who, cell: ({ principal }) => <PrincipalName {...principal} /> },
    { head: common.clientId, cell: ({ clientId }) => <code class="gateway-id">{clientId}</code> },
    { head: common.address, cell: ({ address }) => address },
    { head: common.since, cell: ({ since }) => <TimeAgo at={since} /> },
    {
      head: words.protocol,
      cell: ({ protocol, mqttVersion }) =>
        mqttVersion === null ? protocol : `${protocol}, MQTT ${mqttVersion}`,
    },
    {
      head: words.keepAlive,
      cell: ({ keepAliveSeconds }) =>
        keepAliveSeconds === null || keepAliveSeconds === 0
          ? words.noKeepAlive
          : words.seconds(keepAliveSeconds),
    },
    { head: words.slowed, cell: ({ slowed }) => <Slowed slowed={slowed} /> },
  ];
  return (
    <List
      title={words.open}
      hint={words.openHint}
      loaded={connections}
      rows={connections.data?.connections}
      keyOf={({ principal, clientId }) => `${principal.type} ${principal.id} ${clientId}`}
      columns={columns}
      textOf={({ clientId, address, principal: { id } }) =>
        `${clientId} ${address} ${id} ${names.tokens.value.get(id) ?? names.devices.value.get(id) ?? ''}`
      }
      empty={words.noConnections}
      tools={
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={isSearching}
              onChange={({ currentTarget }) => setSearching(currentTarget.checked)}
            />
            {words.searchAll}
          </label>
          <PauseButton refreshed={connections} />
        </>
      }
      foot={
        isSearching ? (
          <p class="hint" role="status">
            {words.searched(connections.data?.connections.length ?? 0)}
          </p>
        ) : (
          <CursorButtons pages={pages} nextCursor={connections.data?.nextCursor} />
        )
      }
    />
  );
}

/** The limit that slows the reading of a client. */
function Slowed({ slowed }: { readonly slowed: Connection['slowed'] }) {
  const words = useWords(CONNECTIONS_WORDS);
  if (slowed === null) return <>{words.notSlowed}</>;
  const [of = '', name = ''] = slowed.limit.split('.');
  return (
    <span class="gateway-bad">
      {words.limits[name] ?? slowed.limit} {words.limitsOf[of] ?? ''}, <TimeAgo at={slowed.since} />
    </span>
  );
}

function readPage(cursor: string | undefined): Promise<Read> {
  return listConnections({ cursor });
}

async function readAll(): Promise<Read> {
  const connections: Connection[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const read: Read = await readPage(cursor ?? undefined);
    connections.push(...read.connections);
    cursor = read.nextCursor;
    if (cursor === null) break;
  }
  return { connections, nextCursor: cursor };
}
