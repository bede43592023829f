/** Who is connected over MQTT, for whom something waits, and who was denied what. */

import { useRef } from 'preact/hooks';
import {
  type Connection,
  type ConnectionPage,
  type DeniedConnection,
  listConnections,
  listDeniedConnections,
  listSessions,
  type StoredSession,
} from '../api.js';
import { language, number, t } from '../language.js';
import { Since, TimeAgo } from '../ui/bits.js';
import { type Column, List } from '../ui/list.js';
import { REFRESHED, useLoaded } from '../ui/load.js';
import { DENIED_DE } from './denied-words.js';
import { homeOf, knownHomes, PrincipalName } from './named.js';

export function Connections() {
  return (
    <>
      <Sessions />
      <OpenConnections />
      <Denied />
    </>
  );
}

type Client = Pick<Connection, 'principal' | 'clientId' | 'name'>;

const keyOf = ({ principal, clientId }: Client) => `${principal.id} ${clientId}`;

const clientColumns = (): readonly Column<Client>[] => [
  [t('Who', 'Wer'), ({ principal, name }) => <PrincipalName {...principal} name={name} />],
  [t('Client id', 'Client-ID'), ({ clientId }) => <code>{clientId}</code>],
];

/** The persistent sessions with the largest backlogs. */
function Sessions() {
  const sessions = useLoaded(listSessions, [], REFRESHED);
  const { total = 0, sessions: rows } = sessions.data ?? {};
  return (
    <List
      title={t('Sessions', 'Sitzungen')}
      hint={t(
        'Persistent sessions, connected or away: those with the most waiting alarms first. 100 at most are shown.',
        'Dauerhafte Sitzungen, verbunden oder nicht: zuerst die mit den meisten wartenden Alarmen. Höchstens 100 werden angezeigt.',
      )}
      loaded={sessions}
      rows={rows}
      keyOf={keyOf}
      textOf={({ clientId, name, principal: { id } }) => `${clientId} ${id} ${name ?? ''}`}
      empty={t('There are no persistent sessions.', 'Es gibt keine dauerhaften Sitzungen.')}
      foot={
        total > 0 && (
          <p class="hint">
            {t(
              `${number(rows?.length ?? 0)} of ${number(total)} persistent sessions`,
              `${number(rows?.length ?? 0)} von ${number(total)} dauerhaften Sitzungen`,
            )}
          </p>
        )
      }
      columns={[
        ...clientColumns(),
        [t('State', 'Zustand'), (session) => <SessionState session={session} />],
        [
          t('Waiting alarms', 'Wartende Alarme'),
          ({ backlog: { alarms } }) => (
            <span class={alarms > 0 ? 'bad' : ''}>{number(alarms)}</span>
          ),
        ],
        [t('Other waiting', 'Anderes Wartendes'), ({ backlog }) => number(backlog.messages)],
        [
          t('Oldest waiting', 'Älteste wartende'),
          ({ oldestQueuedAt: at }) => at !== null && <TimeAgo at={at} />,
        ],
      ]}
    />
  );
}

function SessionState({ session }: { readonly session: StoredSession }) {
  const { connected, awaySince } = session;
  return (
    <Since at={awaySince} isGood={connected}>
      {connected ? t('connected', 'verbunden') : t('away', 'nicht verbunden')}
    </Since>
  );
}

/** Who is connected now: as many pages as somebody has asked for. */
function OpenConnections() {
  const wantedPages = useRef(1);
  const connections = useLoaded(() => readConnections(wantedPages.current), [], REFRESHED);
  const { isPending, data } = connections;
  const showMore = () => {
    if (isPending) return;
    wantedPages.current += 1;
    connections.again();
  };
  return (
    <List
      title={t('Connected now', 'Jetzt verbunden')}
      hint={t(
        'Over MQTT, in the order of connecting.',
        'Über MQTT, in der Reihenfolge des Verbindens.',
      )}
      loaded={connections}
      rows={data?.connections}
      isPaged
      keyOf={keyOf}
      textOf={({ clientId, address, name, principal: { id } }) =>
        `${clientId} ${address} ${id} ${name ?? ''}`
      }
      empty={t('Nobody is connected.', 'Niemand ist verbunden.')}
      foot={
        typeof data?.nextCursor === 'string' && (
          <button type="button" aria-disabled={isPending} onClick={showMore}>
            {t('Show more', 'Weitere zeigen')}
          </button>
        )
      }
      columns={[
        ...clientColumns(),
        [t('Address', 'Adresse'), ({ address }) => <code>{address}</code>],
        [t('Since', 'Seit'), ({ since }) => <TimeAgo at={since} />],
        [
          t('Protocol', 'Protokoll'),
          ({ protocol, mqttVersion }) =>
            mqttVersion === null ? protocol : `${protocol}, MQTT ${mqttVersion}`,
        ],
        [
          t('Keep-alive', 'Keep-Alive'),
          ({ keepAliveSeconds: seconds }) =>
            seconds === null || seconds === 0 ? t('none', 'keines') : `${number(seconds)} s`,
        ],
        [t('Slowed', 'Gebremst'), ({ slowed }) => <Slowed slowed={slowed} />],
      ]}
    />
  );
}

async function readConnections(pages: number): Promise<ConnectionPage> {
  const first = await listConnections({});
  const connections = [...first.connections];
  let { nextCursor } = first;
  for (let page = 1; page < pages && nextCursor !== null; page++) {
    const next: ConnectionPage = await listConnections({ cursor: nextCursor });
    connections.push(...next.connections);
    nextCursor = next.nextCursor;
  }
  return { connections, nextCursor };
}

/** The limit that slows the reading of a client. */
function Slowed({ slowed }: Pick<Connection, 'slowed'>) {
  if (slowed === null) return <>{t('no', 'nein')}</>;
  const names: Readonly<Record<string, string>> = {
    messagesPerSecond: t('messages a second', 'Nachrichten je Sekunde'),
    alarmsPerDay: t('alarms a day', 'Alarme am Tag'),
  };
  const owners: Readonly<Record<string, string>> = {
    device: t('of a device', 'eines Geräts'),
    token: t('of an access token', 'eines Zugangstokens'),
    location: t('of the home', 'des Heims'),
    total: t('of the gateway', 'des Gateways'),
  };
  const [of = '', name = ''] = slowed.limit.split('.');
  return (
    <Since at={slowed.since}>
      {names[name] ?? slowed.limit} {owners[of] ?? ''}
    </Since>
  );
}

/** What clients tried when they were denied it. */
export const operationNames = (): Readonly<Record<string, string>> => ({
  connect: t('Connecting', 'Verbinden'),
  connection: t('Connection', 'Verbindung'),
  subscribe: t('Subscribing', 'Abonnieren'),
  publish: t('Publishing', 'Veröffentlichen'),
});

/** What was denied over MQTT, and why clients could not connect. */
function Denied() {
  const denied = useLoaded(listDeniedConnections, [], REFRESHED);
  return (
    <List
      title={t('Denied', 'Abgewiesen')}
      hint={t(
        'The newest 1,000 connect errors and denials over MQTT since the gateway started.',
        'Die neuesten 1.000 Fehler beim Verbinden und Verweigerungen über MQTT seit dem Start des Gateways.',
      )}
      loaded={denied}
      rows={denied.data}
      keyOf={(row) => JSON.stringify(row)}
      textOf={(row) => {
        const { address, clientId, username, code, topic, name } = row;
        return [address, clientId, username, code, topic, name, reasonOf(row)].join(' ');
      }}
      empty={t('Nothing was denied.', 'Nichts wurde abgewiesen.')}
      columns={[
        [t('When', 'Wann'), ({ at }) => <TimeAgo at={at} />],
        [t('Address', 'Adresse'), ({ address }) => <code>{address}</code>],
        [t('Client id', 'Client-ID'), ({ clientId }) => <code>{clientId}</code>],
        [t('User name', 'Benutzername'), (row) => <UserName {...row} />],
        [t('What', 'Was'), ({ operation }) => operationNames()[operation]],
        [t('Reason', 'Grund'), reasonOf],
        [t('Topic', 'Topic'), ({ topic }) => topic !== null && <code>{topic}</code>],
      ]}
    />
  );
}

function reasonOf({ code, detail }: DeniedConnection): string {
  return (language.value === 'de' && DENIED_DE[code]) || detail;
}

/** The device or token that is meant; one that does not exist may never have done so. */
function UserName({ username, name }: Pick<DeniedConnection, 'username' | 'name'>) {
  if (username === null) return null;
  if (name === null) return <code>{username}</code>;
  if (knownHomes() === undefined) return <>{name}</>;
  const type = homeOf(username) === undefined ? 'access-token' : 'device';
  return <PrincipalName type={type} id={username} name={name} />;
}
