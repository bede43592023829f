import { dictionary } from '../../../words/language.js';

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

/** The name of each limit that slows clients, by the last part of its configuration key. */
interface LimitWords {
  readonly [name: string]: string;
}

export const CONNECTIONS_WORDS = dictionary({
  en: {
    waiting: 'For whom something waits',
    waitingHint:
      'Persistent sessions, connected or away: those with the most waiting alarms first. 100 at most are shown.',
    noSessions: 'There are no persistent sessions.',
    sessionsOf: (shown: number, total: number) => `${shown} of ${total} persistent sessions`,
    state: 'State',
    connected: 'connected',
    away: 'away',
    waitingAlarms: 'Waiting alarms',
    waitingMessages: 'Other waiting messages',
    oldest: 'Oldest waiting',
    open: 'Connected now',
    openHint: 'Over MQTT, in the order of connecting.',
    noConnections: 'Nobody is connected.',
    protocol: 'Protocol',
    keepAlive: 'Keep-alive',
    seconds: (seconds: number) => `${seconds} s`,
    noKeepAlive: 'none',
    slowed: 'Slowed',
    notSlowed: 'no',
    searchAll: 'Search all connections',
    searched: (count: number) => `${count} connections searched`,
    denied: 'Denied',
    deniedHint: 'The newest 1,000 connect errors and denials over MQTT since the gateway started.',
    noneDenied: 'Nothing was denied.',
    userName: 'User name',
    what: 'What',
    operations: {
      connect: 'Connecting',
      connection: 'Connection',
      subscribe: 'Subscribing',
      publish: 'Publishing',
    },
    limits: {
      messagesPerSecond: 'messages a second',
      alarmsPerDay: 'alarms a day',
    } as LimitWords,
    limitsOf: {
      device: 'of a device',
      token: 'of an access token',
      location: 'of the home',
      total: 'of the gateway',
    } as LimitWords,
  },
  de: {
    waiting: 'Auf wen etwas wartet',
    waitingHint:
      'Dauerhafte Sitzungen, verbunden oder nicht: zuerst die mit den meisten wartenden Alarmen. Höchstens 100 werden angezeigt.',
    noSessions: 'Es gibt keine dauerhaften Sitzungen.',
    sessionsOf: (shown: number, total: number) => `${shown} von ${total} dauerhaften Sitzungen`,
    state: 'Zustand',
    connected: 'verbunden',
    away: 'nicht verbunden',
    waitingAlarms: 'Wartende Alarme',
    waitingMessages: 'Andere wartende Nachrichten',
    oldest: 'Älteste wartende',
    open: 'Jetzt verbunden',
    openHint: 'Über MQTT, in der Reihenfolge des Verbindens.',
    noConnections: 'Niemand ist verbunden.',
    protocol: 'Protokoll',
    keepAlive: 'Keep-Alive',
    seconds: (seconds: number) => `${seconds} s`,
    noKeepAlive: 'keines',
    slowed: 'Gebremst',
    notSlowed: 'nein',
    searchAll: 'Alle Verbindungen durchsuchen',
    searched: (count: number) => `${count} Verbindungen durchsucht`,
    denied: 'Abgewiesen',
    deniedHint:
      'Die neuesten 1.000 Fehler beim Verbinden und Verweigerungen über MQTT seit dem Start des Gateways.',
    noneDenied: 'Nichts wurde abgewiesen.',
    userName: 'Benutzername',
    what: 'Was',
    operations: {
      connect: 'Verbinden',
      connection: 'Verbindung',
      subscribe: 'Abonnieren',
      publish: 'Veröffentlichen',
    },
    limits: {
      messagesPerSecond: 'Nachrichten je Sekunde',
      alarmsPerDay: 'Alarme am Tag',
    } as LimitWords,
    limitsOf: {
      device: 'eines Geräts',
      token: 'eines Zugangstokens',
      location: 'des Heims',
      total: 'des Gateways',
    } as LimitWords,
  },
});
