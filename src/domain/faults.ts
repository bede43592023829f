/**
 * Everything that can be wrong with the gateway. Whatever shows a fault takes its words from here.
 *
 * Kinds stand under their code, which is stable and for programs: kinds that a program need not tell apart share one. Each
 * has its English above its German, a message and on its second line what to do. `{slot}` in a message stands for a value,
 * and text in backquotes is code. `npm run api` writes the tables of docs/reference/faults.md from this.
 */

/** Whether the gateway is ready while a fault lasts. */
const STOPS = true;
const WARNS = false;

/** English and German: `message\nadvice`. */
type Texts = readonly [en: string, de: string];

export const FAULTS = {
  // The store and its replicas.
  ...kinds('store-unreachable', STOPS, {
    storeUnreachable: [
      'The store is unreachable.\nThere is no connection. The gateway restarts its own store; a server that you run yourself you must bring back. Until then alarms are forwarded live and not acknowledged.',
      'Der Speicher ist nicht erreichbar.\nKeine Verbindung. Den eigenen Speicher startet das Gateway neu; einen Server von Ihnen müssen Sie wieder in Gang bringen. Alarme werden solange live und unbestätigt weitergeleitet.',
    ],
    storeSilent: [
      'The store does not answer.\nIt is connected, but has not answered within a second: the server is overloaded or frozen, or the disk is slow.',
      'Der Speicher antwortet nicht.\nEr ist verbunden, antwortet aber nicht innerhalb einer Sekunde: Der Server ist überlastet oder hängt, oder die Platte ist langsam.',
    ],
    storeRefusesAnswers: [
      'The store refuses to answer ({code}).\nThe code comes from Redis. `LOADING` passes; `NOAUTH` and `NOPERM` are about credentials.',
      'Der Speicher verweigert die Antwort ({code}).\nDer Code stammt von Redis: `LOADING` geht vorüber, `NOAUTH` und `NOPERM` betreffen die Zugangsdaten.',
    ],
    storeCannotBeWritten: [
      'The store cannot be written to.\nSee the error in the log line `failed to append to the log, retrying`.',
      'In den Speicher kann nicht geschrieben werden.\nDer Fehler steht in der Logzeile `failed to append to the log, retrying`.',
    ],
  }),
  ...kinds('store-refusing', STOPS, {
    storeRefusesWrites: [
      "The store refuses to write ({code}).\n`MISCONF`: its disk. `READONLY`: it has become a replica. `TRYAGAIN`, `ASK`: a cluster is moving the site's slot. `CLUSTERDOWN`: most of its primaries are away. `NOPERM`: its ACL. Until it takes writes again, nothing is acknowledged.",
      'Der Speicher verweigert das Schreiben ({code}).\n`MISCONF`: seine Platte. `READONLY`: Er ist jetzt ein Replikat. `TRYAGAIN`, `ASK`: Ein Cluster verschiebt den Slot. `CLUSTERDOWN`: Die meisten Primärserver sind weg. `NOPERM`: seine ACL. Solange wird nichts bestätigt.',
    ],
    storeRefusesDevice: [
      "The store cannot take what a device sends: a key of the store was overwritten, or its data is damaged.\nThe log line `failed to append to the log, retrying` names the device or topic (`subject`) and the error of Redis. The device's alarms wait in order; they are forwarded live and not acknowledged. No other device is affected. Remove what lies under the key.",
      'Der Speicher nimmt die Meldungen eines Geräts nicht an: Ein Schlüssel wurde überschrieben, oder seine Daten sind beschädigt.\nDie Logzeile `failed to append to the log, retrying` nennt Gerät oder Topic (`subject`) und den Fehler von Redis. Die Alarme dieses Geräts warten der Reihe nach, werden live weitergeleitet und nicht bestätigt; alle anderen Geräte sind nicht betroffen. Entfernen Sie, was unter dem Schlüssel liegt.',
    ],
  }),
  ...kinds('store-full', STOPS, {
    storeHasNoRoom: [
      'The store refuses to write (OOM): its memory is full.\nGive the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`.',
      'Der Speicher verweigert das Schreiben (OOM): Sein Arbeitsspeicher ist voll.\nGeben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`.',
    ],
  }),
  ...kinds('store-full', WARNS, {
    storeTakesNothing: [
      "The store's memory is {percent} % full, and nothing is stored.\nGive the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`. Alarms are forwarded live and not acknowledged. Once there is room, the gateway stores again.",
      'Der Speicher belegt {percent} % seines Arbeitsspeichers: Es wird nichts mehr gespeichert.\nGeben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`. Alarme werden live weitergeleitet und nicht bestätigt. Sobald Platz ist, geht es von selbst weiter.',
    ],
  }),
  ...kinds('store-nearly-full', WARNS, {
    storeFilling: [
      "The store's memory is {percent} % full; from 90 % on only alarms are stored.\nGive the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`.",
      'Der Speicher belegt {percent} % seines Arbeitsspeichers; ab 90 % werden nur noch Alarme gespeichert.\nGeben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`.',
    ],
    storeTakesAlarmsOnly: [
      "The store's memory is {percent} % full, and only alarms are stored.\nGive the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`. Until then telemetry reaches connected subscribers only, new retained messages stay in memory, invalid publishes and denials are not listed, and nothing can be created over HTTP (503). `gateway_not_stored_total` counts what was not stored.",
      'Der Speicher belegt {percent} % seines Arbeitsspeichers: Es werden nur noch Alarme gespeichert.\nGeben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`. Solange erreichen Messwerte nur verbundene Empfänger, und über HTTP wird nichts angelegt (503).',
    ],
  }),
  ...kinds('retained-full', WARNS, {
    retainedFull: [
      'Retained messages take {mebibytes} MiB, as much as they may: new ones are not retained.\nRemove what nobody needs (publish an empty retained message), or raise `limits.total.retainedBytes`. Further messages are forwarded, but not retained.',
      'Aufbewahrte Nachrichten (retained) belegen {mebibytes} MiB, so viel wie erlaubt: Neue werden nicht aufbewahrt.\nEntfernen Sie, was niemand braucht (veröffentlichen Sie eine leere Nachricht mit gesetztem Retain-Flag), oder erhöhen Sie `limits.total.retainedBytes`. Weitere Nachrichten werden weitergeleitet, aber nicht aufbewahrt.',
    ],
  }),
  ...kinds('store-slow', WARNS, {
    storeSlow: [
      'The store is slow.\nThree answers in a row took more than 200 ms: the disk is slow, or somebody else uses the server.',
      'Der Speicher ist langsam.\nDrei Antworten in Folge dauerten über 200 ms: eine langsame Platte, oder ein anderer Nutzer des Servers.',
    ],
  }),
  ...kinds('replica-missing', WARNS, {
    replicaAway: [
      "No replica confirms what is stored: new alarms are on one machine only.\nFewer than `redis.replicas` replicas confirm within 2 s: one is down, cut off or still copying, or its disk hangs. Bring it back before the primary fails: what is acknowledged until then is lost if a replica without it takes over. The fault ends once a replica has everything again. If it stays although the replica is connected: from Redis 7.2 on the replica needs `appendonly yes` and at least the primary's version, and the gateway's user needs `+wait +waitaof`.",
      'Kein Replikat bestätigt, was gespeichert ist: Neue Alarme liegen nur auf einer Maschine.\nWeniger Replikate als `redis.replicas` bestätigen innerhalb von 2 s: Eines ist aus, abgeschnitten, kopiert noch, oder seine Platte hängt. Bringen Sie es wieder in Gang, bevor der Primärserver ausfällt: Was bis dahin bestätigt wird, geht verloren, wenn ein Replikat übernimmt, das es nicht hat. Die Störung endet, sobald ein Replikat wieder alles hat. Bleibt sie, obwohl das Replikat verbunden ist: Ab Redis 7.2 braucht dieses `appendonly yes` und mindestens die Version des Primärservers, und der Benutzer des Gateways die Rechte `+wait +waitaof`.',
    ],
  }),
  ...kinds('replica-missing', STOPS, {
    replicaAwayRefusing: [
      'No replica confirms what is stored: nothing is acknowledged.\n`redis.withoutReplica` is `refuse`. Bring a replica back. Until then alarms are forwarded live, and changes over HTTP are answered with 503.',
      'Kein Replikat bestätigt, was gespeichert ist: Nichts wird bestätigt.\n`redis.withoutReplica` ist `refuse`. Bringen Sie ein Replikat wieder in Gang. Solange werden Alarme live weitergeleitet und Änderungen über HTTP mit 503 beantwortet.',
    ],
    replicaCutOff: [
      'The store has no replica, and most Sentinels cannot be reached or do not take it for the primary: nothing is acknowledged.\nThis machine is cut off from the others, which may choose another primary. Check the network between the machines, and `redis-cli -p 26379 sentinel master <name>` on each of them. Name all Sentinels in `redis.sentinels`: more than half of them must answer.',
      'Der Speicher hat kein Replikat, und die meisten Sentinels sind nicht erreichbar oder halten ihn nicht für den Primärserver: Nichts wird bestätigt.\nDiese Maschine ist von den anderen abgeschnitten, die einen anderen Primärserver wählen können. Prüfen Sie das Netz zwischen den Maschinen und auf jeder `redis-cli -p 26379 sentinel master <name>`. Nennen Sie in `redis.sentinels` alle Sentinels: Mehr als die Hälfte aller muss antworten.',
    ],
  }),
  ...kinds('store-unsafe', WARNS, {
    maxmemoryPolicyUnsafe: [
      'The store has maxmemory-policy {value}: when it runs out of memory, it deletes alarms that were acknowledged.\nSet `maxmemory-policy` to `noeviction`.',
      'Der Speicher hat maxmemory-policy {value}: Ist er voll, löscht er bereits bestätigte Alarme.\nSetzen Sie `maxmemory-policy` auf `noeviction`.',
    ],
    appendonlyOff: [
      'The store has appendonly off: when it ends unexpectedly, all alarms since its last snapshot are lost.\nSet `appendonly` to `yes`.',
      'Im Speicher ist appendonly ausgeschaltet: Endet er unerwartet, sind alle Alarme seit seinem letzten Abbild verloren.\nSetzen Sie `appendonly` auf `yes`.',
    ],
    appendfsyncUnsafe: [
      'The store has appendfsync {value}: a power cut there loses alarms that were acknowledged {lost}.\nSet `appendfsync` to `always`.',
      'Der Speicher hat appendfsync {value}: Bei einem Stromausfall dort gehen Alarme verloren, die {lost} bestätigt wurden.\nSetzen Sie `appendfsync` auf `always`.',
    ],
  }),
  ...kinds('store-lost-data', WARNS, {
    storeLostData: [
      'The store has lost {lost}, noticed at {at}.\nAcknowledged data is gone: it was deleted or evicted, a backup was restored, a replica took over, or the store was emptied. Check on the residents whose alarms may be missing, create again what is missing, and acknowledge the fault.',
      'Der Speicher hat verloren: {lost} (bemerkt um {at}).\nBestätigte Daten sind weg: Sie wurden gelöscht oder verdrängt, eine Sicherung wurde zurückgespielt, ein Replikat hat übernommen, oder der Speicher wurde geleert. Sehen Sie nach den Bewohnern, deren Alarme fehlen können, legen Sie Fehlendes neu an, und quittieren Sie die Störung.',
    ],
  }),

  // The machine: its disk, clock, certificate and processor.
  ...kinds('disk-nearly-full', WARNS, {
    diskFilling: [
      'The disk with the data directory has less than {mebibytes} MiB left.\nMake room, or soon no alarm can be stored. Below 64 MiB (or a twentieth of a small disk) only alarms are stored.',
      'Die Platte mit dem Datenverzeichnis hat weniger als {mebibytes} MiB frei.\nSchaffen Sie Platz, sonst können bald keine Alarme mehr gespeichert werden. Unter 64 MiB (oder einem Zwanzigstel) werden nur noch Alarme gespeichert.',
    ],
  }),
  ...kinds('disk-full', STOPS, {
    diskFull: [
      'The disk with the data directory is full.\nMake room: less than 1 MiB is free.',
      'Die Platte mit dem Datenverzeichnis ist voll.\nSchaffen Sie Platz: Weniger als 1 MiB ist frei.',
    ],
  }),
  ...kinds('disk-read-only', STOPS, {
    diskReadOnly: [
      'The disk with the data directory is read-only.\nThe kernel makes a failing disk read-only: replace it.',
      'Die Platte mit dem Datenverzeichnis ist schreibgeschützt.\nDer Kernel schaltet eine ausfallende Platte auf schreibgeschützt: Ersetzen Sie sie.',
    ],
  }),
  ...kinds('data-directory-unusable', STOPS, {
    dataDirectoryUnwritable: [
      "The data directory cannot be written.\nCheck the rights of the gateway's user.",
      'In das Datenverzeichnis kann nicht geschrieben werden.\nPrüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft.',
    ],
    dataDirectoryUnreadable: [
      "The data directory is unreadable.\nCheck the rights of the gateway's user, and the disk.",
      'Das Datenverzeichnis ist nicht lesbar.\nPrüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft, oder die Platte.',
    ],
  }),
  ...kinds('clock-jumped', STOPS, {
    clockJumped: [
      'The clock of this machine has jumped by {seconds} s.\nNothing, if it was corrected.',
      'Die Uhr dieses Rechners ist um {seconds} s gesprungen.\nNichts, wenn sie richtig gestellt wurde.',
    ],
  }),
  ...kinds('clock-doubtful', WARNS, {
    clockUnset: [
      'The clock of this machine is not set: it shows a time before 2020.\nSet it. A box without a battery-backed clock needs NTP.',
      'Die Uhr dieses Rechners ist nicht gestellt: Sie zeigt eine Zeit vor 2020.\nStellen Sie sie; ein Rechner ohne gepufferte Uhr braucht NTP.',
    ],
    clockBehind: [
      'The clock of this machine is behind: it has shown {shown} before.\nCorrect it; if it is right, leave it running for a day.',
      'Die Uhr dieses Rechners geht nach: Sie hat schon {shown} gezeigt.\nStellen Sie die Uhr richtig; geht sie richtig, lassen Sie sie einen Tag lang laufen.',
    ],
  }),
  ...kinds('certificate-expiring', WARNS, {
    certificateEnding: [
      'The TLS certificate expires in {days}.\nRenew it. The gateway reads the new files automatically.',
      'Das TLS-Zertifikat läuft in {days} ab.\nErneuern Sie es. Neue Dateien liest das Gateway von selbst.',
    ],
    certificateEnded: [
      'The TLS certificate has expired.\nRenew it. Clients that check it can no longer connect; existing connections stay.',
      'Das TLS-Zertifikat ist abgelaufen.\nErneuern Sie es. Clients, die es prüfen, können sich nicht mehr verbinden; bestehende Verbindungen bleiben.',
    ],
  }),
  ...kinds('certificate-unusable', WARNS, {
    certificateUnusable: [
      "The new TLS certificate or its key cannot be used ({reason}): the old one stays.\nThe gateway's user cannot read the files under `tls`, they are not PEM or not complete, or the key belongs to another certificate. With `tls.selfSigned` it cannot write to `<dataDir>/tls`. The fault ends once they can be used.",
      'Das neue TLS-Zertifikat oder sein Schlüssel ist nicht verwendbar ({reason}): Das alte bleibt in Gebrauch.\nDie Dateien unter `tls` sind für den Benutzer des Gateways nicht lesbar, kein PEM oder nicht vollständig, oder der Schlüssel gehört zu einem anderen Zertifikat. Mit `tls.selfSigned` kann es nicht nach `<dataDir>/tls` schreiben.',
    ],
  }),
  ...kinds('backup-failed', WARNS, {
    backupFailed: [
      "The daily backup has failed: {reason}.\nMake room in `backup.directory`, mount it, or give the gateway's user the right to write there. The log line `failed to make the daily backup` has the whole error. It is tried again each hour; the fault ends with the next backup.",
      'Die tägliche Sicherung ist fehlgeschlagen: {reason}.\nSchaffen Sie in `backup.directory` Platz, hängen Sie es ein, oder geben Sie dem Benutzer des Gateways dort Schreibrecht. Der ganze Fehler steht in der Logzeile `failed to make the daily backup`. Sie wird stündlich wiederholt; die Störung endet mit der nächsten Sicherung.',
    ],
  }),
  // What only `care-home-gateway doctor` looks for.
  ...kinds('doctor-finding', WARNS, {
    configurationFaulty: [
      'The configuration has a fault: {reason}.\nCorrect the key. The gateway does not start with it.',
      'Die Konfiguration hat einen Fehler: {reason}.\nBerichtigen Sie den Schlüssel. Das Gateway startet damit nicht.',
    ],
    configurationDoubtful: [
      'The configuration is valid, but: {reason}.\nCorrect the key.',
      'Die Konfiguration ist gültig, aber: {reason}.\nBerichtigen Sie den Schlüssel.',
    ],
    storeProgramMissing: [
      'Neither `redis-server` nor `valkey-server` is installed.\nInstall one (Debian: `apt-get install redis-server`), or set `redis.url` to a server of yours.',
      'Weder `redis-server` noch `valkey-server` ist installiert.\nInstallieren Sie eines (Debian: `apt-get install redis-server`), oder setzen Sie `redis.url` auf einen eigenen Server.',
    ],
    storeUnsuitable: [
      'The store cannot be used: {reason}.\nThe documentation says what it must be (docs/operate/install.md, The store).',
      'Der Speicher ist nicht verwendbar: {reason}.\nWas er sein muss, steht in der Dokumentation (docs/operate/install.md, The store).',
    ],
    clockUnsynchronized: [
      'Nothing says that the clock of this machine is synchronised.\nLet systemd-timesyncd or chrony set it from a time server: `timedatectl set-ntp true`.',
      'Nichts deutet darauf hin, dass die Uhr dieses Rechners synchronisiert wird.\nLassen Sie sie von systemd-timesyncd oder chrony nach einem Zeitserver stellen: `timedatectl set-ntp true`.',
    ],
    clockDiffers: [
      'The clocks of this machine and of the store differ by {seconds} s.\nSynchronise both with a time server.',
      'Die Uhren dieses Rechners und des Speichers weichen um {seconds} s voneinander ab.\nSynchronisieren Sie beide mit einem Zeitserver.',
    ],
    portUnavailable: [
      'Port {port} cannot be opened ({code}).\n`EADDRINUSE`: end the other program that has it, or set another port. `EACCES`: a port below 1024 needs CAP_NET_BIND_SERVICE. `EADDRNOTAVAIL`: set `host` to an address of this machine.',
      'Port {port} kann nicht geöffnet werden ({code}).\n`EADDRINUSE`: Beenden Sie das andere Programm, das ihn hat, oder wählen Sie einen anderen Port. `EACCES`: Ein Port unter 1024 braucht CAP_NET_BIND_SERVICE. `EADDRNOTAVAIL`: Setzen Sie `host` auf eine Adresse dieses Rechners.',
    ],
    secretReadable: [
      'Other users may use the secret file {file}.\nSet its mode: `chmod 600`. If somebody may have read it, make a new secret: `care-home-gateway admin-token --new`.',
      'Andere Benutzer können die geheime Datei {file} benutzen.\nSetzen Sie ihre Rechte: `chmod 600`. Hat sie vielleicht jemand gelesen, erzeugen Sie ein neues Geheimnis: `care-home-gateway admin-token --new`.',
    ],
    fileOfAnother: [
      'The file {file} belongs to another user than the data directory.\nThe gateway may be unable to use it: `chown -R` the data directory to its user, and run commands as that user.',
      'Die Datei {file} gehört einem anderen Benutzer als das Datenverzeichnis.\nDas Gateway kann sie vielleicht nicht benutzen: Übertragen Sie das Datenverzeichnis mit `chown -R` seinem Benutzer, und führen Sie Befehle als dieser aus.',
    ],
    dataDirectoryOpen: [
      'Other users may enter the data directory.\nSet its mode: `chmod 700`.',
      'Andere Benutzer können das Datenverzeichnis betreten.\nSetzen Sie seine Rechte: `chmod 700`.',
    ],
    openFilesFew: [
      'The process may open {files} files, enough for {connections} MQTT connections.\nRaise `LimitNOFILE` (`ulimit -n`) to 65536.',
      'Der Prozess darf {files} Dateien öffnen, genug für {connections} MQTT-Verbindungen.\nErhöhen Sie `LimitNOFILE` (`ulimit -n`) auf 65536.',
    ],
  }),
  ...kinds('runtime-unsupported', WARNS, {
    runtimeUnsupported: [
      'Node.js {version} has had no security fixes since {since}.\nInstall a supported release: 22, or better 24. The gateway works as before.',
      'Node.js {version} bekommt seit {since} keine Sicherheitskorrekturen mehr.\nInstallieren Sie eine unterstützte Version: 22, besser 24. Das Gateway arbeitet wie bisher.',
    ],
  }),

  // Clients that are away, or ask for more than their limits allow.
  ...kinds('hub-away', WARNS, {
    hubAway: [
      'A hub is away: no alarm can come from the sensors behind it.\nCheck its power and its network. Its sensors are online again with their first message. If the hub is not to come back, delete its access token.',
      'Ein Hub ist weg: Von den Sensoren dahinter kann kein Alarm kommen.\nPrüfen Sie Strom und Netz des Hubs. Seine Sensoren sind mit ihrer ersten Nachricht wieder online. Soll der Hub nicht wiederkommen, löschen Sie seinen Zugangstoken.',
    ],
  }),
  ...kinds('unknown-device', WARNS, {
    unknownDevice: [
      'A hub has sent an alarm for a device that does not exist: nobody got it.\nCreate the device with this id, or have the hub publish under the id of an existing device (`devices/<id>/alarms`). The fault ends when the device exists, or after an hour.',
      'Ein Hub hat einen Alarm für ein unbekanntes Gerät gesendet: Niemand hat ihn bekommen.\nLegen Sie das Gerät mit dieser ID an, oder lassen Sie den Hub unter der ID eines vorhandenen Geräts senden (`devices/<id>/alarms`). Die Störung endet, sobald es das Gerät gibt, oder nach einer Stunde.',
    ],
  }),
  ...kinds('alarms-waiting', WARNS, {
    alarmsWaiting: [
      'Alarms have waited for more than a minute: somebody does not get them.\nA nurse call, bridge or webhook is away, or does not acknowledge. Its alarms are stored, and reach it when it is back. If a session is not used any more, delete its access token, or connect once with a clean session.',
      'Alarme warten seit über einer Minute: Jemand bekommt sie nicht.\nEine Rufanlage, eine Brücke oder ein Webhook ist weg oder quittiert nicht. Die Alarme sind gespeichert und kommen an, sobald die Verbindung wieder da ist. Wird eine Sitzung nicht mehr benutzt, löschen Sie ihren Zugangstoken, oder verbinden Sie sich einmal mit „clean session“.',
    ],
  }),
  ...kinds('limit-exceeded', WARNS, {
    tooManyConnections: [
      'Too many connections: further ones are refused.\nA client opens connections and does not close them, or several clients share a credential (`too-many-connections`).',
      'Zu viele Verbindungen, weitere werden abgewiesen.\nEin Client öffnet Verbindungen und schließt sie nicht, oder mehrere teilen sich Zugangsdaten (`too-many-connections`).',
    ],
    gatewayFull: [
      'Nearly all connections of the gateway are in use: further ones are refused.\nRaise `LimitNOFILE`; 50,000 connections are the most (`gateway-full`).',
      'Fast alle Verbindungen des Gateways sind belegt, weitere werden abgewiesen.\nErhöhen Sie `LimitNOFILE`; 50.000 Verbindungen sind das Höchste (`gateway-full`).',
    ],
    tooManyNewcomers: [
      'Too many connections without a login: the oldest of them are closed.\nThese addresses open connections on which no complete CONNECT follows: find out why.',
      'Zu viele Verbindungen ohne Anmeldung, die ältesten werden geschlossen.\nVon diesen Adressen werden Verbindungen geöffnet, auf denen kein ganzes CONNECT folgt: Sehen Sie dort nach.',
    ],
    tooManyHttpConnections: [
      'Too many HTTP connections: further ones are closed.\nAn address opens more than `http.maxConnectionsPerAddress`: find out why.',
      'Zu viele HTTP-Verbindungen, weitere werden geschlossen.\nEine Adresse öffnet mehr als `http.maxConnectionsPerAddress`: Sehen Sie dort nach.',
    ],
    httpFull: [
      'All HTTP connections of the gateway are in use: idle ones are closed.\nLook at the addresses named: they hold more than their share. Or raise `http.maxConnections`.',
      'Alle HTTP-Verbindungen des Gateways sind belegt, ruhende werden geschlossen.\nSehen Sie bei den genannten Adressen nach: Sie haben mehr als ihren Anteil. Oder erhöhen Sie `http.maxConnections`.',
    ],
    tooManyWebSocketFrames: [
      'Too many WebSocket frames without an MQTT packet: the connections are closed.\nThese addresses send text frames, frames over `mqtt.maxPacketBytes`, messages in more than 4,096 fragments, frames that break the protocol, or empty frames and pings without a pause: find out why.',
      'Zu viele WebSocket-Frames ohne MQTT-Paket, die Verbindungen werden geschlossen.\nVon diesen Adressen kommen leere, zu große oder fehlerhafte Frames, oder Pings ohne Pause: Sehen Sie dort nach.',
    ],
    tooManyFailedLogins: [
      'Too many failed logins: further ones are refused unchecked for some seconds.\nSomebody is guessing, or a device has an old secret. The user names are under Connections, among the denied.',
      'Zu viele fehlgeschlagene Anmeldungen, weitere werden einige Sekunden lang nicht geprüft.\nJemand rät, oder ein Gerät hat ein veraltetes Passwort. Die Benutzernamen stehen unter „Verbindungen“ bei den abgewiesenen.',
    ],
    tooManySessions: [
      'Too many persistent sessions: further ones are refused or take the place of old ones.\nA client comes with a new client id at each start: give it a fixed one (`too-many-sessions`).',
      'Zu viele dauerhafte Sitzungen, weitere werden abgewiesen oder verdrängen alte.\nEin Client meldet sich bei jedem Start mit einer neuen Client-ID: Geben Sie ihm eine feste (`too-many-sessions`).',
    ],
    tooManySubscriptions: [
      'Too many subscriptions: further ones are refused.\nUse fewer, wider filters (`too-many-subscriptions`).',
      'Zu viele Abonnements, weitere werden abgewiesen.\nAbonnieren Sie weniger, dafür weiter gefasste Filter (`too-many-subscriptions`).',
    ],
    tooManyUnreadBytes: [
      'Too many unread bytes: a connection that takes none for five seconds is closed.\nA subscriber hangs, or its network is too slow. Alarms for a persistent session wait; messages at QoS 0 are missed.',
      'Zu viele ungelesene Bytes; eine Verbindung, die fünf Sekunden lang nichts abnimmt, wird geschlossen.\nEin Empfänger hängt, oder das Netz ist zu langsam für ihn. Alarme einer dauerhaften Sitzung warten; Nachrichten mit QoS 0 verpasst er.',
    ],
    tooManyRetained: [
      'Too many retained messages: further ones are forwarded and not retained.\nUse fewer topics or smaller values: a device may have 500 retained messages, and 4 MiB.',
      'Zu viele aufbewahrte Nachrichten (retained), weitere werden nur weitergeleitet.\nVerwenden Sie weniger Topics oder kleinere Werte: Ein Gerät darf 500 aufbewahrte Nachrichten haben, und 4 MiB.',
    ],
    tooManyRecordings: [
      'Too many recordings: further ones are refused.\nRaise `limits.device.footageBytes`, or shorten `history.retentionDays`.',
      'Zu viele Aufnahmen, weitere werden abgewiesen.\nErhöhen Sie `limits.device.footageBytes`, oder verkürzen Sie `history.retentionDays`.',
    ],
    deviceSlowed: [
      'A device is slowed to its limit of {limit}.\nIt sends more than such a device should: look at what it sends. If it connects again and again, check its network, and whether two clients use its client id. If it stands for many sensors, raise `limits.device`.',
      'Ein Gerät wird auf seine Grenze von {limit} gebremst.\nEs sendet mehr, als ein Gerät wie dieses sollte: Sehen Sie nach, was. Verbindet es sich immer wieder, prüfen Sie sein Netz, und ob zwei Clients seine Client-ID haben. Steht es für viele Sensoren, erhöhen Sie `limits.device`.',
    ],
    tokenSlowed: [
      'An access token is slowed to its limit of {limit}.\nIts client sends more commands than it should, or subscribes or connects again and again.',
      'Ein Zugangstoken wird auf seine Grenze von {limit} gebremst.\nSein Client sendet mehr Befehle, als er sollte, oder abonniert oder verbindet sich immer wieder.',
    ],
  }),

  // Devices, destinations, and the records of the site.
  ...kinds('standing-by', STOPS, {
    standingBy: [
      'This gateway stands by: another one serves the site.\nNothing, while the other one serves. It takes over when that one ends or is cut off.',
      'Dieses Gateway steht bereit: Ein anderes bedient die Heime.\nNichts, solange das andere läuft. Es übernimmt, wenn jenes endet oder abgeschnitten ist.',
    ],
  }),
  ...kinds('account-broken', WARNS, {
    accountBroken: [
      'The account of a destination does not add up.\nWhat it accepted is not the sum of what was delivered, is queued, has expired and was dropped: somebody has changed the store by hand, or it is damaged. Compare `gateway_consumer_…` in `/metrics`, check who has access to the store, and acknowledge the fault: it is then counted anew.',
      'Die Buchführung eines Ziels geht nicht auf.\nWas angenommen wurde, ist nicht die Summe dessen, was zugestellt wurde, wartet, verfallen ist und verworfen wurde: Jemand hat den Speicher von Hand geändert, oder er ist beschädigt. Prüfen Sie, wer Zugang zum Speicher hat, und quittieren Sie die Störung: Danach wird neu gezählt.',
    ],
  }),
  ...kinds('consumer-lagging', WARNS, {
    queueGrowing: [
      'A queue is more than half full.\nMore than half of `maxQueuedMessages` waits for this destination, alarms included: bring it back, or delete its access token.',
      'Eine Warteschlange ist mehr als halb voll.\nFür diesen Empfänger oder diese Brücke wartet mehr als die Hälfte von `maxQueuedMessages`: Bringen Sie sie wieder in Gang, oder löschen Sie den Token.',
    ],
    bridgeLagging: [
      'A bridge lags: its oldest message has waited for more than a minute.\nThe upstream is down, or cannot keep up.',
      'Eine Brücke hängt nach: Die älteste Nachricht wartet seit mehr als einer Minute.\nDie Gegenstelle ist unterbrochen, oder langsamer als das, was gesendet wird.',
    ],
  }),
  ...kinds('record-damaged', WARNS, {
    sessionUnreadable: [
      'A stored session cannot be read: its backlog is lost.\nA record of the store is damaged: this client must subscribe again. The fault stays until the next start. The log line `failed to read stored sessions` has all of them.',
      'Eine gespeicherte Sitzung ist nicht lesbar, ihr Rückstand ist verloren.\nEin Datensatz des Speichers ist beschädigt; dieser Client muss neu abonnieren. Die Störung bleibt bis zum nächsten Start. Alle stehen in der Logzeile `failed to read stored sessions`.',
    ],
    recordsUnreadable: [
      'The store holds unreadable records of the site ({count}): they are left out.\nRestore them from a backup and restart the gateway, or create again what is missing. The log line `stored site is inconsistent` names them. The sessions of devices and tokens are kept until then, and devices of a location raise alarms under its id.',
      'Der Speicher hat unlesbare Datensätze der Heime ({count}), die daher fehlen.\nStellen Sie sie aus einer Sicherung wieder her und starten Sie das Gateway neu, oder legen Sie das Fehlende neu an. Die Logzeile `stored site is inconsistent` nennt sie. Die Sitzungen von Geräten und Tokens bleiben solange erhalten, und Geräte eines Heims melden unter dessen ID.',
    ],
  }),
  ...kinds('device-unreadable', WARNS, {
    deviceUnreadable: [
      'An alarm of a device cannot be read.\nSee what it sent under Rejected publishes, and set the device up correctly. The fault ends with the next good alarm.',
      'Ein Alarm eines Geräts ist nicht lesbar.\nSehen Sie unter „Unbrauchbare Sendungen“ nach, was es gesendet hat, und richten Sie das Gerät richtig ein. Die Störung endet mit dem nächsten guten Alarm.',
    ],
  }),
  ...kinds('device-silent', WARNS, {
    deviceSilent: [
      'A device is silent: nothing comes from it any more.\nCheck its battery, its network and its place: an alarm from it might not arrive either. If many fall silent at once, check the switch, the access point or the hub. The board names them. The fault ends when the device is heard.',
      'Ein Gerät ist verstummt: Von ihm kommt nichts mehr.\nPrüfen Sie Batterie, Netz und Standort: Auch ein Alarm von ihm käme vielleicht nicht an. Verstummen viele auf einmal, prüfen Sie Switch, Access Point oder Hub. Die Tafel nennt sie. Die Störung endet, sobald das Gerät wieder zu hören ist.',
    ],
  }),
  ...kinds('output-failing', WARNS, {
    webhookRefusing: [
      'The receiver of a webhook refuses alarms: {reason}.\nMend the receiver. What it refuses for good is a dead letter: send those again under Webhooks. Anything else waits, and is tried again. The fault ends when it takes an alarm.',
      'Der Empfänger eines Webhooks weist Alarme ab: {reason}.\nBringen Sie den Empfänger in Ordnung. Was er endgültig abweist, ist unzustellbar: Senden Sie es unter „Webhooks“ erneut. Alles andere wartet und wird erneut versucht. Die Störung endet, sobald er einen Alarm annimmt.',
    ],
    webhookFailing: [
      'A webhook is failing: {reason}.\nEverything for this receiver waits and is tried again. If it answers with an error, look at its log. If it does not answer, check the address, the name server, the certificate and the firewall. If its address is private and that is intended, set `allowPrivate`.',
      'Ein Webhook kann nicht zustellen: {reason}.\nAlles für diesen Empfänger wartet und wird erneut versucht. Antwortet er mit einem Fehler, sehen Sie in seinem Log nach. Antwortet er nicht, prüfen Sie Adresse, Namensserver, Zertifikat und Firewall. Ist seine Adresse privat und das so gewollt, setzen Sie `allowPrivate`.',
    ],
  }),
  ...kinds('drill-failed', WARNS, {
    drillUnacknowledged: [
      'A destination has not acknowledged the last drill within 60 s.\nAlarms reach it late or not at all. Check under Connections, Bridges or Webhooks that it is connected and takes alarms, and repair it. If nobody uses the session any more, revoke its access token. Then start another drill.',
      'Ein Ziel hat den letzten Probealarm nicht innerhalb von 60 s quittiert.\nAlarme kommen dort zu spät oder gar nicht an: Prüfen Sie unter „Verbindungen“, „Brücken“ oder „Webhooks“, ob das Ziel verbunden ist und Alarme annimmt, und bringen Sie es in Ordnung. Benutzt niemand mehr die Sitzung, widerrufen Sie ihren Zugangstoken. Lösen Sie dann einen weiteren Probealarm aus.',
    ],
    drillWithoutDestination: [
      'The last drill of a location had no destination.\nNo persistent session, bridge or webhook gets the alarms of the location. Check that the nurse call has connected with a persistent session and has subscribed; its session is listed under Connections. Then start another drill.',
      'Der letzte Probealarm einer Einrichtung hatte kein Ziel.\nKeine dauerhafte Sitzung, keine Bridge und kein Webhook bekommt die Alarme der Einrichtung. Prüfen Sie, ob die Rufanlage mit einer dauerhaften Sitzung verbunden ist und abonniert hat; ihre Sitzung steht unter „Verbindungen“. Lösen Sie dann einen weiteren Probealarm aus.',
    ],
  }),

  // Bridges.
  ...kinds('bridge-missing', WARNS, {
    bridgeMissing: [
      'A bridge is missing from the configuration: its queue is kept until it is back, or deleted.\nAdd it again under the same name: it then gets everything that has waited. If it is not to come back, delete its queue under Bridges.',
      'Eine Brücke fehlt in der Konfiguration: Die Warteschlange bleibt, bis die Brücke wieder da ist oder die Warteschlange gelöscht wird.\nTragen Sie die Brücke unter demselben Namen wieder ein: Dann erhält sie alles, was gewartet hat. Soll sie nicht wiederkommen, löschen Sie ihre Warteschlange unter „Brücken“.',
    ],
  }),
  ...kinds('bridge-refused', WARNS, {
    bridgeRefused: [
      "The upstream of a bridge refuses alarms.\nLook at the bridge's last error and its dead letters: the upstream's ACL may forbid its user to publish, or a quota is used up. What is refused for good is a dead letter; anything else waits, and is sent again. The fault ends when the upstream takes an alarm.",
      'Die Gegenstelle einer Brücke weist Alarme ab.\nSehen Sie den letzten Fehler der Brücke und ihre unzustellbaren Nachrichten an: Vielleicht verbietet die ACL der Gegenstelle dem Benutzer das Veröffentlichen, oder ein Kontingent ist erschöpft. Endgültig Abgewiesenes ist unzustellbar, alles andere wartet und wird erneut gesendet. Die Störung endet, sobald die Gegenstelle einen Alarm annimmt.',
    ],
  }),
  ...kinds('bridge-down', WARNS, {
    bridgeUnreachable: [
      'A bridge is down: the upstream cannot be reached.\nCheck its name, address and port, and the network.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle ist nicht erreichbar.\nPrüfen Sie Name, Adresse, Port und Netz.',
    ],
    bridgeClosed: [
      "A bridge is down: the upstream has closed the connection.\nLook at the upstream's log: it may be full, restarting, or rejecting a message.",
      'Eine Brücke ist unterbrochen: Die Gegenstelle hat die Verbindung geschlossen.\nSehen Sie in das Log der Gegenstelle: Sie ist voll, startet neu, oder stört sich an einer Nachricht.',
    ],
    bridgeSilent: [
      'A bridge is down: the upstream does not answer.\nThe upstream hangs, or the network in between does.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle antwortet nicht.\nDie Gegenstelle hängt, oder das Netz dazwischen.',
    ],
    bridgeTurnedAway: [
      'A bridge is down: the upstream takes no connections now.\nThe upstream is full or shutting down.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt zurzeit keine Verbindungen an.\nDie Gegenstelle ist voll oder wird gerade beendet.',
    ],
    bridgeMessageRefused: [
      'A bridge is down: the upstream refuses a message.\nThe upstream cannot take it for now: its disk is full, or a quota is used up. The message is sent again on each connection.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle weist eine Nachricht ab.\nDie Gegenstelle kann sie zurzeit nicht aufnehmen: Ihre Platte ist voll, oder ein Kontingent ist erschöpft. Die Nachricht wird bei jeder Verbindung erneut gesendet.',
    ],
    bridgeStoreRefuses: [
      'A bridge is down: the store cannot take what comes from the upstream.\nSee the faults of the store.',
      'Eine Brücke ist unterbrochen: Der Speicher kann nicht aufnehmen, was von der Gegenstelle kommt.\nSiehe die Störungen des Speichers.',
    ],
    bridgeUntrusted: [
      'A bridge is down: no trusted TLS connection to the upstream.\nThe certificate has expired, comes from another authority (`caFile`) or is for another name (`serverName`), or a file is not a certificate.',
      'Eine Brücke ist unterbrochen: keine vertrauenswürdige TLS-Verbindung zur Gegenstelle.\nDas Zertifikat ist abgelaufen, stammt von einer anderen Stelle (`caFile`) oder gilt für einen anderen Namen (`serverName`), oder eine der Dateien ist kein Zertifikat.',
    ],
    bridgeCredentialsRefused: [
      "A bridge is down: the upstream does not accept the credentials.\nCheck `username`, `password` and the upstream's ACL.",
      'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Zugangsdaten nicht an.\nPrüfen Sie `username`, `password` und die ACL der Gegenstelle.',
    ],
    bridgeClientIdRefused: [
      'A bridge is down: the upstream does not accept the client id.\nSet `clientId`.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Client-ID nicht an.\nSetzen Sie `clientId`.',
    ],
    bridgeClientIdTaken: [
      'A bridge is down: another client uses the client id of the bridge.\nTwo gateways have the same `clientId`, or a data directory was copied.',
      'Eine Brücke ist unterbrochen: Ein anderer Client benutzt die Client-ID der Brücke.\nZwei Gateways haben dieselbe `clientId`, oder ein Datenverzeichnis wurde kopiert.',
    ],
    bridgePacketTooLarge: [
      'A bridge is down: the upstream sends packets far over the limit.\nA packet has more than four times `mqtt.maxPacketBytes`: the upstream is faulty, or not to be trusted.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle sendet Pakete weit über der Grenze.\nEin Paket hat mehr als das Vierfache von `mqtt.maxPacketBytes`: Die Gegenstelle ist fehlerhaft oder nicht vertrauenswürdig.',
    ],
    bridgeVersionRefused: [
      'A bridge is down: the upstream does not speak this version of MQTT.\nLeave `protocol` out.',
      'Eine Brücke ist unterbrochen: Die Gegenstelle spricht diese Version von MQTT nicht.\nLassen Sie `protocol` weg.',
    ],
  }),
  ...kinds('bridge-stuck', WARNS, {
    bridgeStuck: [
      'A bridge cannot deliver a message: the upstream refuses it, or closes the connection at it.\nThe log line `upstream closes the connection at a message` has its topic and alarm: find out why the upstream rejects it. If it takes other messages, the gateway makes a dead letter of this one.',
      'Eine Brücke kann eine Nachricht nicht zustellen: Die Gegenstelle weist sie ab oder schließt dabei die Verbindung.\nTopic und Alarm stehen in der Logzeile `upstream closes the connection at a message`: Klären Sie, warum die Gegenstelle die Nachricht ablehnt. Nimmt sie andere an, gilt diese schließlich als unzustellbar.',
    ],
  }),
  ...kinds('bridge-commands-denied', WARNS, {
    bridgeWithoutCommands: [
      "A bridge gets no commands: the upstream denies the subscription.\nCheck `commands` and the upstream's ACL.",
      'Eine Brücke erhält keine Befehle: Die Gegenstelle verweigert das Abonnement.\nPrüfen Sie `commands` und die ACL der Gegenstelle.',
    ],
  }),
} as const;

export type FaultName = keyof typeof FAULTS;
export type BridgeFaultName = Extract<FaultName, `bridge${string}`>;
export type FaultCode = (typeof FAULTS)[FaultName]['code'];

export const FAULT_CODES: readonly FaultCode[] = [
  ...new Set(Object.values(FAULTS).map(({ code }) => code)),
].sort();

function kinds<Code extends string, const ByName extends Readonly<Record<string, Texts>>>(
  code: Code,
  stops: boolean,
  byName: ByName,
): KindsOf<Code, ByName> {
  const kinds = Object.entries(byName).map(([name, texts]) => [name, { code, stops, texts }]);
  return Object.fromEntries(kinds) as KindsOf<Code, ByName>;
}

type KindsOf<Code, ByName> = {
  readonly [Name in keyof ByName]: {
    readonly code: Code;
    readonly stops: boolean;
    readonly texts: ByName[Name];
  };
};
