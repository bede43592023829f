import type { FAULTS_EN } from './generated-faults.js';

/** A fault and what to do about it. `{0}`, `{1}`, … stand for what the English sentence has at its `…`. */
interface FaultWords {
  readonly fault: string;
  readonly advice: string;
}

const AS_IT_SAYS = 'Wie beschrieben.';
const RECORD =
  'Stellen Sie den Datensatz aus einer Sicherung wieder her, oder legen Sie das Fehlende neu an.';
const STORE = 'Siehe die Störungen des Speichers.';
const CLOCK =
  'Stellen Sie die Uhr richtig; geht sie richtig, lassen Sie sie einen Tag lang laufen.';

/** Every fault in German; a fault that lacks its words does not compile. */
export const FAULTS_DE: Readonly<Record<keyof typeof FAULTS_EN, FaultWords>> = {
  'The store is unreachable.': {
    fault: 'Der Speicher ist nicht erreichbar.',
    advice:
      'Keine Verbindung. Den eigenen Speicher startet das Gateway neu; einen Server von Ihnen müssen Sie wieder in Gang bringen. Alarme werden solange live und unbestätigt weitergeleitet.',
  },
  'The store does not answer.': {
    fault: 'Der Speicher antwortet nicht.',
    advice:
      'Er ist verbunden, antwortet aber nicht innerhalb einer Sekunde: Der Server ist überlastet oder hängt, oder die Platte ist langsam.',
  },
  'The store refuses to answer (…).': {
    fault: 'Der Speicher verweigert die Antwort ({0}).',
    advice:
      'Der Code stammt von Redis: `LOADING` geht vorüber, `NOAUTH` und `NOPERM` betreffen die Zugangsdaten.',
  },
  'The store refuses to write (…).': {
    fault: 'Der Speicher verweigert das Schreiben ({0}).',
    advice:
      '`OOM`: Arbeitsspeicher; `MISCONF`: seine Platte; `READONLY`: er ist jetzt eine Replik; `NOPERM`: seine ACL. Solange wird nichts bestätigt.',
  },
  'The store cannot take what a device sends: a key of the store was overwritten, or its data is damaged.':
    {
      fault:
        'Der Speicher nimmt die Meldungen eines Geräts nicht an: Ein Schlüssel wurde überschrieben, oder seine Daten sind beschädigt.',
      advice:
        'Die Logzeile `failed to append to the log, retrying` nennt Gerät oder Thema (`subject`) und den Fehler von Redis. Die Alarme dieses Geräts warten der Reihe nach, werden live weitergeleitet und nicht bestätigt; alle anderen Geräte sind nicht betroffen. Entfernen Sie, was unter dem Schlüssel liegt.',
    },
  'The store cannot be written to.': {
    fault: 'In den Speicher kann nicht geschrieben werden.',
    advice: 'Der Fehler steht in der Logzeile `failed to append to the log, retrying`.',
  },
  "The store's memory is … % full; from 90 % on only alarms are stored: ….": {
    fault: 'Der Speicher ist zu {0} % voll; ab 90 % werden nur noch Alarme gespeichert.',
    advice:
      'Geben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem eigenen Server dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`.',
  },
  "The store's memory is … % full, and only alarms are stored: ….": {
    fault: 'Der Speicher ist zu {0} % voll, und es werden nur noch Alarme gespeichert.',
    advice:
      'Geben Sie ihm mehr Arbeitsspeicher, oder verkürzen Sie `history.retentionDays`. Messwerte erreichen nur verbundene Empfänger, und über HTTP wird nichts angelegt (503).',
  },
  "The store's memory is … % full, and nothing is stored: ….": {
    fault: 'Der Speicher ist zu {0} % voll, und es wird nichts mehr gespeichert.',
    advice:
      'Alarme werden live weitergeleitet und nicht bestätigt. Sobald Platz ist, geht es von selbst weiter.',
  },
  'Retained messages take … MiB, as much as they may: new ones are not retained.': {
    fault:
      'Aufbewahrte Nachrichten (retained) belegen {0} MiB, so viel wie erlaubt: Neue werden nicht aufbewahrt.',
    advice:
      '`limits.total.retainedBytes`. Entfernen Sie, was niemand braucht (eine leere Nachricht mit retained).',
  },
  'The store is slow.': {
    fault: 'Der Speicher ist langsam.',
    advice:
      'Drei Antworten in Folge dauerten über 200 ms: eine langsame Platte, oder ein anderer Nutzer des Servers.',
  },
  'No replica confirms what is stored: new alarms are on one machine only.': {
    fault:
      'Keine Replik bestätigt, was gespeichert ist: Neue Alarme liegen nur auf einer Maschine.',
    advice:
      'Weniger Repliken als `redis.replicas` bestätigen innerhalb von 2 s: Eine ist aus, abgeschnitten, kopiert noch, oder ihre Platte hängt. Bringen Sie sie wieder in Gang, bevor der Primärserver Schaden nimmt: Was solange bestätigt wird, geht verloren, wenn eine Replik ohne es übernimmt. Die Störung geht vorbei, sobald eine Replik wieder alles hat. Bleibt sie, obwohl die Replik verbunden ist: Ab Redis 7.2 braucht diese `appendonly yes` und mindestens die Version des Primärservers, und der Benutzer des Gateways die Rechte `+wait +waitaof`.',
  },
  'No replica confirms what is stored: nothing is acknowledged.': {
    fault: 'Keine Replik bestätigt, was gespeichert ist: Nichts wird bestätigt.',
    advice:
      'Dasselbe mit `redis.withoutReplica: refuse`. Alarme werden live weitergeleitet, Änderungen über HTTP mit 503 beantwortet.',
  },
  'The store has no replica, and most Sentinels cannot be reached or do not take it for the primary: nothing is acknowledged.':
    {
      fault:
        'Der Speicher hat keine Replik, und die meisten Sentinels sind nicht erreichbar oder halten ihn nicht für den Primärserver: Nichts wird bestätigt.',
      advice:
        'Diese Maschine ist von den anderen abgeschnitten, die einen anderen Primärserver wählen können. Prüfen Sie das Netz zwischen den Maschinen und auf jeder `redis-cli -p 26379 sentinel master <name>`. Nennen Sie in `redis.sentinels` alle Sentinels: Mehr als die Hälfte aller muss antworten.',
    },
  'maxmemory-policy is …: a store that runs out of memory deletes alarms that were acknowledged. Set it to noeviction.':
    {
      fault:
        'maxmemory-policy ist {0}: Ein voller Speicher löscht Alarme, die bestätigt waren. Setzen Sie den Wert auf noeviction.',
      advice: AS_IT_SAYS,
    },
  'appendonly is off: when the store ends unexpectedly, all alarms since its last snapshot are lost. Set it to yes.':
    {
      fault:
        'appendonly ist ausgeschaltet: Endet der Speicher unerwartet, sind alle Alarme seit seinem letzten Abbild verloren. Setzen Sie den Wert auf yes.',
      advice: AS_IT_SAYS,
    },
  'appendfsync is …: a power cut at the store loses alarms that were acknowledged …. Set it to always.':
    {
      fault:
        'appendfsync ist {0}: Bei einem Stromausfall am Speicher gehen bestätigte Alarme verloren. Setzen Sie den Wert auf always.',
      advice: AS_IT_SAYS,
    },
  'The store has lost …, noticed at …: acknowledge with POST /faults/store-lost-data/acknowledge.':
    {
      fault: 'Der Speicher hat verloren: {0} (bemerkt um {1}).',
      advice:
        'Bestätigtes ist weg: gelöscht, verdrängt, eine zurückgespielte Sicherung, ein Wechsel des Servers, ein geleerter Speicher. Sehen Sie nach den Bewohnern, deren Alarme fehlen können, legen Sie Fehlendes neu an, und quittieren Sie die Störung.',
    },
  'too many connections, further ones are refused': {
    fault: 'Zu viele Verbindungen, weitere werden abgewiesen',
    advice:
      'Ein Client öffnet Verbindungen und schließt sie nicht, oder mehrere teilen sich Zugangsdaten (`too-many-connections`).',
  },
  'too many connections, as nearly all of the gateway are in use: further ones are refused': {
    fault: 'Zu viele Verbindungen; fast alle des Gateways sind belegt, weitere werden abgewiesen',
    advice: 'Erhöhen Sie `LimitNOFILE` oder `limits.total.connections` (`gateway-full`).',
  },
  'too many connections without a login, the oldest of them are closed': {
    fault: 'Zu viele Verbindungen ohne Anmeldung, die ältesten werden geschlossen',
    advice:
      'Von diesen Adressen werden Verbindungen geöffnet, auf denen kein ganzes CONNECT folgt: Sehen Sie dort nach.',
  },
  'too many HTTP connections, further ones are closed': {
    fault: 'Zu viele HTTP-Verbindungen, weitere werden geschlossen',
    advice: 'Eine Adresse öffnet mehr als `http.maxConnectionsPerAddress`: Sehen Sie dort nach.',
  },
  'too many HTTP connections, as all of the gateway are in use: idle ones are closed': {
    fault: 'Zu viele HTTP-Verbindungen; alle des Gateways sind belegt, ruhende werden geschlossen',
    advice: '`http.maxConnections`; genannt sind Adressen mit mehr als ihrem Anteil.',
  },
  'too many WebSocket frames without an MQTT packet, the connections are closed': {
    fault: 'Zu viele WebSocket-Frames ohne MQTT-Paket, die Verbindungen werden geschlossen',
    advice:
      'Von diesen Adressen kommen leere, zu große oder fehlerhafte Frames, oder Pings ohne Pause: Sehen Sie dort nach.',
  },
  'too many failed logins, further ones are not looked at for some seconds': {
    fault:
      'Zu viele fehlgeschlagene Anmeldungen, weitere werden einige Sekunden lang nicht geprüft',
    advice:
      'Jemand rät, oder ein Gerät hat ein veraltetes Passwort. Die Benutzernamen stehen unter „Verbindungen“ bei den abgewiesenen.',
  },
  'too many persistent sessions, further ones are refused or take the place of old ones': {
    fault: 'Zu viele dauerhafte Sitzungen, weitere werden abgewiesen oder verdrängen alte',
    advice:
      'Ein Client meldet sich bei jedem Start mit einer neuen Client-ID: Geben Sie ihm eine feste (`too-many-sessions`).',
  },
  'too many subscriptions, further ones are refused': {
    fault: 'Zu viele Abonnements, weitere werden abgewiesen',
    advice: 'Weniger, dafür weitere Filter (`too-many-subscriptions`).',
  },
  'too many unread bytes, a connection that takes none for five seconds is closed': {
    fault:
      'Zu viele ungelesene Bytes; eine Verbindung, die fünf Sekunden lang nichts abnimmt, wird geschlossen',
    advice:
      'Ein Empfänger hängt, oder das Netz ist zu langsam für ihn. Alarme einer dauerhaften Sitzung warten; Nachrichten mit QoS 0 verpasst er.',
  },
  'too many retained messages, further ones are forwarded and not retained': {
    fault: 'Zu viele aufbewahrte Nachrichten (retained), weitere werden nur weitergeleitet',
    advice:
      'Weniger Topics oder kleinere Werte; `limits.device.retainedTopics`, `limits.device.retainedBytes` und die des Heims.',
  },
  'too many recordings, further ones are refused': {
    fault: 'Zu viele Aufnahmen, weitere werden abgewiesen',
    advice: '`limits.device.footageBytes`, oder kürzere `history.retentionDays`.',
  },
  'the folder of recordings is nearly full, … MiB left: free some of the disk, or delete devices that are gone':
    {
      fault: 'Der Ordner der Aufnahmen ist fast voll, {0} MiB sind frei',
      advice:
        'Schaffen Sie Platz auf der Platte, oder löschen Sie Geräte, die es nicht mehr gibt. `limits.device.footageBytes` begrenzt ein Gerät.',
    },
  'The disk with the data directory has less than … MiB left: make room, or alarms can be stored no more.':
    {
      fault: 'Die Platte mit dem Datenverzeichnis hat weniger als {0} MiB frei.',
      advice:
        'Schaffen Sie Platz, sonst können bald keine Alarme mehr gespeichert werden. Unter 64 MiB (oder einem Zwanzigstel) werden nur noch Alarme gespeichert.',
    },
  'The disk with the data directory is full.': {
    fault: 'Die Platte mit dem Datenverzeichnis ist voll.',
    advice: 'Schaffen Sie Platz; weniger als 1 MiB ist frei.',
  },
  'The disk with the data directory is read-only.': {
    fault: 'Die Platte mit dem Datenverzeichnis ist schreibgeschützt.',
    advice: 'Das tut der Kernel mit einer Platte, die ausfällt: Ersetzen Sie sie.',
  },
  'The data directory cannot be written.': {
    fault: 'In das Datenverzeichnis kann nicht geschrieben werden.',
    advice: 'Prüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft.',
  },
  'The data directory is unreadable.': {
    fault: 'Das Datenverzeichnis ist nicht lesbar.',
    advice: 'Prüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft, oder die Platte.',
  },
  'The clock of this machine has jumped by … s.': {
    fault: 'Die Uhr dieses Rechners ist um {0} s gesprungen.',
    advice: 'Nichts, wenn sie richtig gestellt wurde.',
  },
  'The clock of this machine is not set: it shows a time before 2020.': {
    fault: 'Die Uhr dieses Rechners ist nicht gestellt: Sie zeigt eine Zeit vor 2020.',
    advice: 'Stellen Sie sie; ein Rechner ohne gepufferte Uhr braucht NTP.',
  },
  'The clock of this machine is behind: it has shown … before.': {
    fault: 'Die Uhr dieses Rechners geht nach: Sie hat schon {0} gezeigt.',
    advice: CLOCK,
  },
  'The clock of this machine may be wrong: it is over a day ahead of when it was last seen (…).': {
    fault:
      'Die Uhr dieses Rechners geht vielleicht falsch: Sie ist mehr als einen Tag weiter als zuletzt gesehen ({0}).',
    advice: CLOCK,
  },
  'The TLS certificate ends in …: renew it.': {
    fault: 'Das TLS-Zertifikat läuft in {0} ab: Erneuern Sie es.',
    advice: 'Ab 30 Tagen vor dem Ablauf. Neue Dateien liest das Gateway von selbst.',
  },
  'The TLS certificate has ended: renew it.': {
    fault: 'Das TLS-Zertifikat ist abgelaufen: Erneuern Sie es.',
    advice: 'Clients, die es prüfen, verbinden sich nicht mehr; bestehende Verbindungen bleiben.',
  },
  'The new TLS certificate or its key cannot be used (…): the old one stays.': {
    fault:
      'Das neue TLS-Zertifikat oder sein Schlüssel ist nicht verwendbar ({0}): Das alte bleibt in Gebrauch.',
    advice:
      'Die Dateien unter `tls` sind für den Benutzer des Gateways nicht lesbar, kein PEM oder nicht vollständig, oder der Schlüssel gehört zu einem anderen Zertifikat.',
  },
  'HTTP and TLS clients take much of the processor.': {
    fault: 'HTTP- und TLS-Clients beanspruchen den Prozessor stark.',
    advice:
      'Der Client oder die Adresse hat fünf Sekunden lang ein Viertel davon gebraucht, oder mehr verlangt als ihren Anteil: Finden Sie heraus, warum. Alarme warten nicht darauf.',
  },
  'The account of a subscriber or bridge does not hold: acknowledge with POST /faults/account-broken/acknowledge.':
    {
      fault: 'Die Buchführung eines Empfängers oder einer Brücke geht nicht auf',
      advice:
        'Was angenommen wurde, ist nicht die Summe dessen, was zugestellt wurde, wartet, verfallen ist und verworfen wurde: Jemand hat den Speicher von Hand geändert, oder er ist beschädigt. Prüfen Sie, wer Zugang zum Speicher hat, und quittieren Sie die Störung: Danach wird neu gezählt.',
    },
  'queue growing, more than half full': {
    fault: 'Eine Warteschlange wächst und ist mehr als halb voll',
    advice:
      'Für diesen Empfänger oder diese Brücke wartet mehr als die Hälfte von `maxQueuedMessages`: Bringen Sie sie wieder in Gang, oder löschen Sie den Token.',
  },
  'a stored session cannot be read, its backlog is lost': {
    fault: 'Eine gespeicherte Sitzung ist nicht lesbar, ihr Rückstand ist verloren',
    advice:
      'Ein Datensatz des Speichers ist beschädigt; dieser Client muss neu abonnieren. Bis zum nächsten Start. Alle stehen in der Logzeile `failed to read stored sessions`.',
  },
  'A device is slowed to its limit of … …': {
    fault: 'Ein Gerät wird auf seine Grenze von {0} {1} gebremst',
    advice:
      'Es sendet mehr, als ein Gerät wie dieses sollte: Sehen Sie nach, was. Bei Verbindungen je Sekunde: Es verbindet sich immer wieder; prüfen Sie sein Netz, und ob zwei Clients seine Client-ID haben. Steht es für viele Sensoren, geben Sie ihm eigene Grenzen.',
  },
  'An access token is slowed to its limit of … …': {
    fault: 'Ein Zugangstoken wird auf seine Grenze von {0} {1} gebremst',
    advice:
      'Sein Client sendet mehr Befehle, als er sollte, oder abonniert oder verbindet sich immer wieder.',
  },
  'A location is slowed to its limit of … …': {
    fault: 'Ein Heim wird auf seine Grenze von {0} {1} gebremst',
    advice:
      'Alle seine Geräte zusammen senden mehr, als sie dürfen; jedes behält ein Zwanzigstel seiner eigenen Grenzen.',
  },
  'The gateway is slowed to its limit of … …': {
    fault: 'Das Gateway wird auf seine Grenze von {0} {1} gebremst',
    advice:
      'Alle Heime zusammen senden mehr, als sie dürfen; jedes Gerät behält ein Zwanzigstel seiner eigenen Grenzen.',
  },
  '… more devices and access tokens are slowed': {
    fault: '{0} weitere Geräte und Zugangstokens werden gebremst',
    advice: 'Für die ersten fünf gibt es je eine Störung.',
  },
  'Audit records cannot be exported to the disk.': {
    fault: 'Einträge des Protokolls können nicht auf die Platte exportiert werden.',
    advice:
      'Schaffen Sie Platz auf der Platte von `dataDir`, oder prüfen Sie die Rechte von `<dataDir>/audit`. Die Einträge sind im Speicher und werden später exportiert.',
  },
  'The store holds an unreadable record of …, left out.': {
    fault: 'Der Speicher hat einen unlesbaren Datensatz ({0}), daher nicht angezeigt.',
    advice: `${RECORD} Die Sitzungen eines Geräts oder Tokens bleiben solange erhalten.`,
  },
  'The store has no readable record of …, served with the id as name.': {
    fault: 'Der Speicher hat keinen lesbaren Datensatz ({0}); die ID dient als Name.',
    advice: 'Benennen Sie das Heim um.',
  },
  'The store has no room for … that should be in one.': {
    fault: 'Im Speicher fehlt das Zimmer ({0}).',
    advice: 'Verschieben Sie die Geräte in ein Zimmer.',
  },
  'The store has no group for … that should be in one.': {
    fault: 'Im Speicher fehlt die Gruppe ({0}).',
    advice: 'Ordnen Sie die Zimmer einer Gruppe zu.',
  },
  'A bridge is missing from the configuration: its queue is kept until it is back, or deleted': {
    fault:
      'Eine Brücke fehlt in der Konfiguration: Ihre Warteschlange bleibt, bis sie wieder da ist oder gelöscht wird',
    advice:
      'Tragen Sie die Brücke unter demselben Namen wieder ein: Dann erhält sie alles, was gewartet hat. Soll sie nicht wiederkommen, löschen Sie ihre Warteschlange unter „Brücken“ oder mit `DELETE /bridges/<name>`.',
  },
  'A bridge is down: the upstream cannot be reached': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle ist nicht erreichbar',
    advice: 'Prüfen Sie Name, Adresse, Port und Netz.',
  },
  'A bridge is down: the upstream has closed the connection': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle hat die Verbindung geschlossen',
    advice:
      'Sehen Sie in das Log der Gegenstelle: Sie ist voll, startet neu, oder stört sich an einer Nachricht.',
  },
  'A bridge is down: the upstream does not answer': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle antwortet nicht',
    advice: 'Die Gegenstelle hängt, oder das Netz dazwischen.',
  },
  'A bridge is down: the upstream takes no connections now': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt zurzeit keine Verbindungen an',
    advice: 'Die Gegenstelle ist voll oder wird gerade beendet.',
  },
  'A bridge is down: the store cannot take what comes from the upstream': {
    fault:
      'Eine Brücke ist unterbrochen: Der Speicher kann nicht aufnehmen, was von der Gegenstelle kommt',
    advice: STORE,
  },
  'A bridge is down: no trusted TLS connection to the upstream': {
    fault: 'Eine Brücke ist unterbrochen: keine vertrauenswürdige TLS-Verbindung zur Gegenstelle',
    advice:
      'Das Zertifikat ist abgelaufen, stammt von einer anderen Stelle (`caFile`) oder gilt für einen anderen Namen (`serverName`), oder eine Datei ist keines.',
  },
  'A bridge is down: the upstream does not accept the credentials': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Zugangsdaten nicht an',
    advice: 'Prüfen Sie `username`, `password` und die ACL der Gegenstelle.',
  },
  'A bridge is down: the upstream does not accept the client id': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Client-ID nicht an',
    advice: 'Setzen Sie `clientId`.',
  },
  'A webhook is failing: ….': {
    fault: 'Ein Webhook kann nicht zustellen: {0}.',
    advice:
      'Alles für diesen Empfänger wartet und wird wieder versucht. `the receiver answers …`: Sehen Sie in dessen Protokoll nach. `no answer within 10 s`, `the receiver cannot be reached (…)`: Prüfen Sie Adresse, Namensserver, Zertifikat und Firewall. `the address is private, and allowPrivate is false`: Erlauben Sie es in der Konfiguration, wenn es so gemeint ist.',
  },
  'A destination has not acknowledged the last drill within 60 s.': {
    fault: 'Ein Ziel hat den letzten Probealarm nicht innerhalb von 60 s quittiert.',
    advice:
      'Dort kommen keine Alarme an: Sehen Sie nach, ob die Rufanlage verbunden und angemeldet ist (`GET /sessions`, `GET /bridges`), bringen Sie sie in Ordnung, und lösen Sie einen Probealarm aus. Eine Sitzung, die niemand mehr benutzt: Löschen Sie ihr Zugangstoken.',
  },
  '… more destinations have not acknowledged the last drill.': {
    fault: '{0} weitere Ziele haben den letzten Probealarm nicht quittiert.',
    advice: 'Die ersten nennen drei Störungen.',
  },
  'A device is silent: nothing comes from it any more.': {
    fault: 'Ein Gerät ist verstummt: Von ihm kommt nichts mehr.',
    advice:
      'Sehen Sie nach Batterie, Netz und Standort: Auch ein Alarm von ihm käme vielleicht nicht. `GET /care-homes/<location>/supervision` hat alle. Die Störung endet, sobald das Gerät wieder zu hören ist.',
  },
  '… more devices are silent: nothing comes from them.': {
    fault: '{0} weitere Geräte sind verstummt: Von ihnen kommt nichts.',
    advice:
      'Viele auf einmal sind ein Switch, ein Funkzugang oder ein Hub. Die ersten nennen drei Störungen.',
  },
  'An alarm of the device cannot be read.': {
    fault: 'Ein Alarm des Geräts ist nicht lesbar.',
    advice:
      'Sehen Sie unter „Unbrauchbare Sendungen“ nach, was es gesendet hat, und richten Sie das Gerät richtig ein. Die Störung endet mit dem nächsten guten Alarm.',
  },
  'Alarms of … more devices cannot be read.': {
    fault: 'Alarme von {0} weiteren Geräten sind nicht lesbar.',
    advice: 'Drei Störungen nennen die ersten.',
  },
  'A bridge is down: another client uses the client id of the bridge': {
    fault: 'Eine Brücke ist unterbrochen: Ein anderer Client benutzt ihre Client-ID',
    advice: 'Zwei Gateways haben dieselbe `clientId`, oder ein Datenverzeichnis wurde kopiert.',
  },
  'A bridge is down: the upstream sends packets far over the limit': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle sendet Pakete weit über der Grenze',
    advice:
      'Mehr als das Vierfache von `mqtt.maxPacketBytes`: Sie ist fehlerhaft oder nicht vertrauenswürdig.',
  },
  'A bridge is slowed: its upstream sends more than it may': {
    fault: 'Eine Brücke wird gebremst: Ihre Gegenstelle sendet mehr, als sie darf',
    advice: 'Befehle kommen schneller, als `limits.token` erlaubt; sie werden später gelesen.',
  },
  'A bridge is down: the upstream does not speak this version of MQTT': {
    fault: 'Eine Brücke ist unterbrochen: Die Gegenstelle spricht diese Version von MQTT nicht',
    advice: 'Lassen Sie `protocol` weg.',
  },
  'A bridge cannot deliver a message: the upstream closes the connection at it': {
    fault:
      'Eine Brücke kann eine Nachricht nicht zustellen: Die Gegenstelle schließt dabei die Verbindung',
    advice:
      'Sehen Sie unter „Brücken“ bei den unzustellbaren Nachrichten nach; Topic und Alarm stehen in der Logzeile `upstream closes the connection at a message`.',
  },
  'A bridge lags: its oldest message has waited for more than a minute': {
    fault: 'Eine Brücke hängt nach: Ihre älteste Nachricht wartet seit mehr als einer Minute',
    advice: 'Die Gegenstelle ist unterbrochen, oder langsamer als das, was gesendet wird.',
  },
  'A bridge gets no commands: the upstream denies the subscription': {
    fault: 'Eine Brücke erhält keine Befehle: Die Gegenstelle verweigert das Abonnement',
    advice: 'Prüfen Sie `commands` und die ACL der Gegenstelle.',
  },
};

/** What stands in the place of a `…` and is the gateway's own word. */
export const VALUES_DE: readonly (readonly [string, string])[] = [
  ['bytes of alarms a day', 'Bytes an Alarmen am Tag'],
  ['messages a second', 'Nachrichten je Sekunde'],
  ['bytes a second', 'Bytes je Sekunde'],
  ['alarms a day', 'Alarmen am Tag'],
  ['connects a second', 'Verbindungen je Sekunde'],
  ['everything stored', 'alles Gespeicherte'],
  ['changes of the site', 'Änderungen der Stammdaten'],
  ['change of the site', 'Änderung der Stammdaten'],
  ['alarms of backlogs', 'Alarme aus Warteschlangen'],
  ['alarm of a backlog', 'Alarm aus einer Warteschlange'],
  ['indexes of the history', 'Verzeichnisse des Verlaufs'],
  ['index of the history', 'Verzeichnis des Verlaufs'],
  ['keys that the server evicted', 'vom Server verdrängte Schlüssel'],
  ['key that the server evicted', 'vom Server verdrängter Schlüssel'],
  ['access tokens', 'Zugangstokens'],
  ['access token', 'Zugangstoken'],
  ['locations', 'Heime'],
  ['location', 'Heim'],
  ['devices', 'Geräte'],
  ['device', 'Gerät'],
  ['address', 'Adresse'],
  ['numbers', 'Nummern'],
  ['up to', 'bis zu'],
  ['more', 'weitere'],
  ['days', 'Tagen'],
  ['day', 'Tag'],
  ['alarms', 'Alarme'],
  ['groups', 'Gruppen'],
  ['group', 'Gruppe'],
  ['rooms', 'Zimmer'],
  ['room', 'Zimmer'],
];
