import { type DeniedConnection, listDeniedConnections } from '../../../api.js';
import { language, t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { type Column, List } from '../list.js';
import { PrincipalName, useNames } from '../names.js';
import { PauseButton } from '../pause-button.js';
import { useRefreshed } from '../use-refreshed.js';

/** In German; the English words are the gateway's own. */
export const DENIED_DE: Readonly<Record<string, string>> = {
  'unknown-user-name': 'Kein Gerät und kein Zugangstoken hat diesen Benutzernamen als ID.',
  'wrong-password':
    'Das Passwort ist nicht das des Geräts oder nicht der Zugangstoken, oder der Token ist abgelaufen.',
  'too-many-failed-logins':
    'Zu viele Anmeldungen von dieser Adresse oder mit diesem Benutzernamen sind fehlgeschlagen: Warten Sie einige Sekunden.',
  'no-credentials': 'Benutzername und Passwort werden gebraucht.',
  'client-id-missing': 'Eine dauerhafte Sitzung braucht eine Client-ID.',
  'client-id-too-long': 'Die Client-ID ist länger als 256 Bytes.',
  'client-id-reserved': 'Die Client-ID beginnt mit bridge/ oder $share/; beides ist reserviert.',
  'too-many-connections':
    'Das Gerät oder der Zugangstoken hat so viele Verbindungen, wie er haben darf (ein Gerät 128, ein Zugangstoken limits.token.connections).',
  'gateway-full':
    'Das Gateway hat so viele Verbindungen, wie es haben darf; die letzten sind für Geräte und Zugangstokens, die keine haben.',
  'too-many-sessions':
    'Das Gerät oder der Zugangstoken hat so viele dauerhafte Sitzungen, wie er haben darf (ein Gerät 5, ein Zugangstoken limits.token.persistentSessions).',
  'unknown-version': 'Das Gateway spricht MQTT 3.1, 3.1.1 und 5.',
  'authentication-method':
    'Eine erweiterte Anmeldung gibt es nicht: Benutzername und Passwort werden gebraucht.',
  'malformed-connect': 'Das erste Paket ist kein CONNECT, wie MQTT es vorschreibt.',
  'no-connect': 'Innerhalb von zehn Sekunden kam kein CONNECT.',
  'connecting-too-fast':
    'Von dieser Adresse kamen zu viele Verbindungen auf einmal (limits.connectionsPerSecond).',
  'tls-handshake-failed': 'Der TLS-Handshake ist fehlgeschlagen.',
  'websocket-frames':
    'Die WebSocket-Frames waren zu groß, nicht binär, oder zu viele von ihnen brachten nichts.',
  'malformed-packet': 'Ein Paket ist nicht so, wie MQTT es vorschreibt.',
  'keep-alive-timeout': 'Eineinhalb Keep-Alives lang kam nichts.',
  'messages-unread': 'Der Client hat seine Nachrichten fünf Sekunden lang nicht gelesen.',
  'taken-over': 'Eine andere Verbindung hat die Sitzung mit dieser Client-ID geöffnet.',
  'credential-ended':
    'Das Gerät oder der Zugangstoken wurde gelöscht, ist abgelaufen oder hat ein neues Passwort.',
  'not-stored':
    'Der Speicher hat nicht angenommen, was der Client gesendet hat; er muss es noch einmal senden.',
  'filter-not-of-device':
    'Ein Gerät darf seine eigenen Befehle (devices/<id>/commands/#) und devices/<id>/rejected abonnieren.',
  'filter-outside-grants':
    'Der Filter liegt nicht in care-homes/<location> eines Heims, das die Rechte des Tokens umfassen.',
  'shared-filter-invalid':
    'Ein geteiltes Abonnement heißt $share/<Gruppe>/<Filter>, die Gruppe ohne Platzhalter.',
  'too-many-subscriptions':
    'Das Gerät oder der Zugangstoken hat so viele Abonnements, wie er haben darf (ein Gerät 100, ein Zugangstoken 10.000).',
  'topic-not-of-device':
    'Ein Gerät darf nur auf seinen eigenen Topics (devices/<id>/…) veröffentlichen.',
  'topic-not-of-token':
    'Ein Zugangstoken darf Befehle an Geräte und Zustände von Alarmen veröffentlichen, und auf den Topics der Geräte, für die er veröffentlichen darf.',
  'device-without-grant':
    'Eine Veröffentlichung für ein Gerät braucht ein Recht zum Veröffentlichen, das es umfasst.',
  'command-without-grant': 'Ein Befehl braucht ein Recht zum Verwalten, das das Gerät umfasst.',
  'alarm-state-without-grant':
    'Ein Zustand eines Alarms braucht für das Heim ein Recht zum Reagieren.',
};

const operationNames = () => ({
  connect: t('Connecting', 'Verbinden'),
  connection: t('Connection', 'Verbindung'),
  subscribe: t('Subscribing', 'Abonnieren'),
  publish: t('Publishing', 'Veröffentlichen'),
});

/** What was denied over MQTT, and why clients could not connect. */
export function DeniedList() {
  const names = useNames();
  const denied = useRefreshed(listDeniedConnections, []);
  const reasonOf = ({ code, detail }: DeniedConnection) =>
    language.value === 'de' ? DENIED_DE[code] : detail;
  const columns: readonly Column<DeniedConnection>[] = [
    { head: t('When', 'Wann'), cell: ({ at }) => <TimeAgo at={at} /> },
    { head: t('Address', 'Adresse'), cell: ({ address }) => address },
    {
      head: t('Client id', 'Client-ID'),
      cell: ({ clientId }) => <code class="gateway-id">{clientId}</code>,
    },
    {
      head: t('User name', 'Benutzername'),
      cell: ({ username }) => username !== null && <UserName id={username} />,
    },
    { head: t('What', 'Was'), cell: ({ operation }) => operationNames()[operation] },
    { head: t('Reason', 'Grund'), cell: reasonOf },
    {
      head: t('Topic', 'Topic'),
      cell: ({ topic }) => topic !== null && <code class="gateway-id">{topic}</code>,
    },
  ];
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
      columns={columns}
      textOf={(row) => {
        const { address, clientId, username, code, topic } = row;
        const name = names.tokens.value.get(username ?? '') ?? '';
        return [address, clientId, username, code, topic, name, reasonOf(row)].join(' ');
      }}
      empty={t('Nothing was denied.', 'Nichts wurde abgewiesen.')}
      tools={<PauseButton refreshed={denied} />}
    />
  );
}

/** A user name is the id of a device or of an access token. */
function UserName({ id }: { readonly id: string }) {
  const isToken = useNames().tokens.value.has(id);
  return <PrincipalName type={isToken || id === 'admin' ? 'access-token' : 'device'} id={id} />;
}
