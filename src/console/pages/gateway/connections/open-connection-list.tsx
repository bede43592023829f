import { useState } from 'preact/hooks';
import { type Connection, listConnections } from '../../../api.js';
import { t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { CursorButtons, useCursorPages } from '../page-buttons.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';

const limitNames = (): Readonly<Record<string, string>> => ({
  messagesPerSecond: t('messages a second', 'Nachrichten je Sekunde'),
  alarmsPerDay: t('alarms a day', 'Alarme am Tag'),
});

const limitOwners = (): Readonly<Record<string, string>> => ({
  device: t('of a device', 'eines Geräts'),
  token: t('of an access token', 'eines Zugangstokens'),
  location: t('of the home', 'des Heims'),
  total: t('of the gateway', 'des Gateways'),
});

/** A search reads up to this many pages: by default a gateway has at most 10,000 connections. */
const MAX_PAGES = 100;

interface Read {
  readonly connections: readonly Connection[];
  readonly nextCursor: string | null;
}

/** Who is connected over MQTT: a page of 100, or all during a search. */
export function OpenConnectionList() {
  const names = useNames();
  const pages = useCursorPages();
  const [isSearching, setSearching] = useState(false);
  const read = () => (isSearching ? readAll() : readPage(pages.cursor));
  const connections = useRefreshed(read, [pages.cursor, isSearching]);
  const searched = connections.data?.connections.length ?? 0;
  const columns: readonly Column<Connection>[] = [
    { head: t('Who', 'Wer'), cell: ({ principal }) => <PrincipalName {...principal} /> },
    {
      head: t('Client id', 'Client-ID'),
      cell: ({ clientId }) => <code class="gateway-id">{clientId}</code>,
    },
    { head: t('Address', 'Adresse'), cell: ({ address }) => address },
    { head: t('Since', 'Seit'), cell: ({ since }) => <TimeAgo at={since} /> },
    {
      head: t('Protocol', 'Protokoll'),
      cell: ({ protocol, mqttVersion }) =>
        mqttVersion === null ? protocol : `${protocol}, MQTT ${mqttVersion}`,
    },
    {
      head: t('Keep-alive', 'Keep-Alive'),
      cell: ({ keepAliveSeconds }) =>
        keepAliveSeconds === null || keepAliveSeconds === 0
          ? t('none', 'keines')
          : `${keepAliveSeconds} s`,
    },
    { head: t('Slowed', 'Gebremst'), cell: ({ slowed }) => <Slowed slowed={slowed} /> },
  ];
  return (
    <List
      title={t('Connected now', 'Jetzt verbunden')}
      hint={t(
        'Over MQTT, in the order of connecting.',
        'Über MQTT, in der Reihenfolge des Verbindens.',
      )}
      loaded={connections}
      rows={connections.data?.connections}
      keyOf={({ principal, clientId }) => `${principal.type} ${principal.id} ${clientId}`}
      columns={columns}
      textOf={({ clientId, address, principal: { id } }) =>
        `${clientId} ${address} ${id} ${names.tokens.value.get(id) ?? names.devices.value.get(id) ?? ''}`
      }
      empty={t('Nobody is connected.', 'Niemand ist verbunden.')}
      tools={
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={isSearching}
              onChange={({ currentTarget }) => setSearching(currentTarget.checked)}
            />
            {t('Search all connections', 'Alle Verbindungen durchsuchen')}
          </label>
          <PauseButton refreshed={connections} />
        </>
      }
      foot={
        isSearching ? (
          <p class="hint" role="status">
            {t(`${searched} connections searched`, `${searched} Verbindungen durchsucht`)}
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
  if (slowed === null) return <>{t('no', 'nein')}</>;
  const [of = '', name = ''] = slowed.limit.split('.');
  return (
    <span class="gateway-bad">
      {limitNames()[name] ?? slowed.limit} {limitOwners()[of] ?? ''}, <TimeAgo at={slowed.since} />
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
