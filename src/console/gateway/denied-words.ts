/**
 * Why the gateway denies clients something, in German: the English words are the gateway's own, in each answer.
 *
 * A test holds the codes against those of the gateway.
 */

export const DENIED_DE: Readonly<Record<string, string>> = {
  'unknown-user-name': 'Kein Gerät und kein Zugangstoken hat diesen Benutzernamen als ID.',
  'wrong-password':
    'Das Passwort ist nicht das Geheimnis des Geräts oder nicht der Zugangstoken, oder der Token ist abgelaufen.',
  'too-many-failed-logins':
    'Zu viele Anmeldungen von dieser Adresse oder mit diesem Benutzernamen sind fehlgeschlagen: Warten Sie einige Sekunden.',
  'no-credentials': 'Benutzername und Passwort werden gebraucht.',
  'client-id-missing': 'Eine dauerhafte Sitzung braucht eine Client-ID.',
  'client-id-too-long': 'Die Client-ID ist länger als 256 Bytes.',
  'client-id-reserved': 'Die Client-ID beginnt mit bridge/ oder $share/; beides ist reserviert.',
  'too-many-connections':
    'Das Gerät oder der Zugangstoken hat so viele Verbindungen, wie er haben darf (ein Gerät 128, ein Zugangstoken limits.token.connections).',
  'gateway-full':
    'Das Gateway hat so viele Verbindungen, wie es haben darf (50.000, oder weniger, wenn LimitNOFILE weniger erlaubt).',
  'too-many-sessions':
    'Das Gerät oder der Zugangstoken hat so viele dauerhafte Sitzungen, wie er haben darf (ein Gerät 5, ein Zugangstoken limits.token.persistentSessions), oder alle Zugangstokens zusammen haben so viele (limits.total.persistentSessions).',
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
    'Das Gerät oder der Zugangstoken wurde gelöscht, ist abgelaufen oder hat ein neues Geheimnis.',
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
