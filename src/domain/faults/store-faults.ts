import type { FaultKind } from './fault-kind.js';

/** What can be wrong with the store and its replicas. */
export const STORE_FAULTS = {
  storeUnreachable: {
    code: 'store-unreachable',
    stops: true,
    en: {
      message: 'The store is unreachable.',
      advice:
        'There is no connection. The gateway restarts its own store; a server that you run yourself you must bring back. Until then alarms are forwarded live and not acknowledged.',
    },
    de: {
      message: 'Der Speicher ist nicht erreichbar.',
      advice:
        'Keine Verbindung. Den eigenen Speicher startet das Gateway neu; einen Server von Ihnen müssen Sie wieder in Gang bringen. Alarme werden solange live und unbestätigt weitergeleitet.',
    },
  },
  storeSilent: {
    code: 'store-unreachable',
    stops: true,
    en: {
      message: 'The store does not answer.',
      advice:
        'It is connected, but has not answered within a second: the server is overloaded or frozen, or the disk is slow.',
    },
    de: {
      message: 'Der Speicher antwortet nicht.',
      advice:
        'Er ist verbunden, antwortet aber nicht innerhalb einer Sekunde: Der Server ist überlastet oder hängt, oder die Platte ist langsam.',
    },
  },
  storeRefusesAnswers: {
    code: 'store-unreachable',
    stops: true,
    en: {
      message: 'The store refuses to answer ({code}).',
      advice:
        'The code comes from Redis. `LOADING` passes; `NOAUTH` and `NOPERM` are about credentials.',
    },
    de: {
      message: 'Der Speicher verweigert die Antwort ({code}).',
      advice:
        'Der Code stammt von Redis: `LOADING` geht vorüber, `NOAUTH` und `NOPERM` betreffen die Zugangsdaten.',
    },
  },
  storeRefusesWrites: {
    code: 'store-refusing',
    stops: true,
    en: {
      message: 'The store refuses to write ({code}).',
      advice:
        "`MISCONF`: its disk. `READONLY`: it has become a replica. `TRYAGAIN`, `ASK`: a cluster is moving the site's slot. `CLUSTERDOWN`: most of its primaries are away. `NOPERM`: its ACL. Until it takes writes again, nothing is acknowledged.",
    },
    de: {
      message: 'Der Speicher verweigert das Schreiben ({code}).',
      advice:
        '`MISCONF`: seine Platte. `READONLY`: Er ist jetzt ein Replikat. `TRYAGAIN`, `ASK`: Ein Cluster verschiebt den Slot. `CLUSTERDOWN`: Die meisten Primärserver sind weg. `NOPERM`: seine ACL. Solange wird nichts bestätigt.',
    },
  },
  storeHasNoRoom: {
    code: 'store-full',
    stops: true,
    en: {
      message: 'The store refuses to write (OOM): its memory is full.',
      advice:
        'Give the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`.',
    },
    de: {
      message: 'Der Speicher verweigert das Schreiben (OOM): Sein Arbeitsspeicher ist voll.',
      advice:
        'Geben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`.',
    },
  },
  storeRefusesDevice: {
    code: 'store-refusing',
    stops: true,
    en: {
      message:
        'The store cannot take what a device sends: a key of the store was overwritten, or its data is damaged.',
      advice:
        "The log line `failed to append to the log, retrying` names the device or topic (`subject`) and the error of Redis. The device's alarms wait in order; they are forwarded live and not acknowledged. No other device is affected. Remove what lies under the key.",
    },
    de: {
      message:
        'Der Speicher nimmt die Meldungen eines Geräts nicht an: Ein Schlüssel wurde überschrieben, oder seine Daten sind beschädigt.',
      advice:
        'Die Logzeile `failed to append to the log, retrying` nennt Gerät oder Topic (`subject`) und den Fehler von Redis. Die Alarme dieses Geräts warten der Reihe nach, werden live weitergeleitet und nicht bestätigt; alle anderen Geräte sind nicht betroffen. Entfernen Sie, was unter dem Schlüssel liegt.',
    },
  },
  storeCannotBeWritten: {
    code: 'store-unreachable',
    stops: true,
    en: {
      message: 'The store cannot be written to.',
      advice: 'See the error in the log line `failed to append to the log, retrying`.',
    },
    de: {
      message: 'In den Speicher kann nicht geschrieben werden.',
      advice: 'Der Fehler steht in der Logzeile `failed to append to the log, retrying`.',
    },
  },
  storeFilling: {
    code: 'store-nearly-full',
    stops: false,
    en: {
      message: "The store's memory is {percent} % full; from 90 % on only alarms are stored.",
      advice:
        'Give the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`.',
    },
    de: {
      message:
        'Der Speicher belegt {percent} % seines Arbeitsspeichers; ab 90 % werden nur noch Alarme gespeichert.',
      advice:
        'Geben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`.',
    },
  },
  storeTakesAlarmsOnly: {
    code: 'store-nearly-full',
    stops: false,
    en: {
      message: "The store's memory is {percent} % full, and only alarms are stored.",
      advice:
        'Give the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`. Until then telemetry reaches connected subscribers only, new retained messages stay in memory, invalid publishes and denials are not listed, and nothing can be created over HTTP (503). `gateway_not_stored_total` counts what was not stored.',
    },
    de: {
      message:
        'Der Speicher belegt {percent} % seines Arbeitsspeichers: Es werden nur noch Alarme gespeichert.',
      advice:
        'Geben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`. Solange erreichen Messwerte nur verbundene Empfänger, und über HTTP wird nichts angelegt (503).',
    },
  },
  storeTakesNothing: {
    code: 'store-full',
    stops: false,
    en: {
      message: "The store's memory is {percent} % full, and nothing is stored.",
      advice:
        'Give the machine more memory, raise `redis.maxMemoryBytes` (or `maxmemory`, if you run the server yourself), or shorten `history.retentionDays`. Alarms are forwarded live and not acknowledged. Once there is room, the gateway stores again.',
    },
    de: {
      message:
        'Der Speicher belegt {percent} % seines Arbeitsspeichers: Es wird nichts mehr gespeichert.',
      advice:
        'Geben Sie dem Rechner mehr Arbeitsspeicher, erhöhen Sie `redis.maxMemoryBytes` (bei einem Server, den Sie selbst betreiben, dessen `maxmemory`), oder verkürzen Sie `history.retentionDays`. Alarme werden live weitergeleitet und nicht bestätigt. Sobald Platz ist, geht es von selbst weiter.',
    },
  },
  retainedFull: {
    code: 'retained-full',
    stops: false,
    en: {
      message:
        'Retained messages take {mebibytes} MiB, as much as they may: new ones are not retained.',
      advice:
        'Remove what nobody needs (publish an empty retained message), or raise `limits.total.retainedBytes`. Further messages are forwarded, but not retained.',
    },
    de: {
      message:
        'Aufbewahrte Nachrichten (retained) belegen {mebibytes} MiB, so viel wie erlaubt: Neue werden nicht aufbewahrt.',
      advice:
        'Entfernen Sie, was niemand braucht (veröffentlichen Sie eine leere Nachricht mit gesetztem Retain-Flag), oder erhöhen Sie `limits.total.retainedBytes`. Weitere Nachrichten werden weitergeleitet, aber nicht aufbewahrt.',
    },
  },
  storeSlow: {
    code: 'store-slow',
    stops: false,
    en: {
      message: 'The store is slow.',
      advice:
        'Three answers in a row took more than 200 ms: the disk is slow, or somebody else uses the server.',
    },
    de: {
      message: 'Der Speicher ist langsam.',
      advice:
        'Drei Antworten in Folge dauerten über 200 ms: eine langsame Platte, oder ein anderer Nutzer des Servers.',
    },
  },
  replicaAway: {
    code: 'replica-missing',
    stops: false,
    en: {
      message: 'No replica confirms what is stored: new alarms are on one machine only.',
      advice:
        "Fewer than `redis.replicas` replicas confirm within 2 s: one is down, cut off or still copying, or its disk hangs. Bring it back before the primary fails: what is acknowledged until then is lost if a replica without it takes over. The fault ends once a replica has everything again. If it stays although the replica is connected: from Redis 7.2 on the replica needs `appendonly yes` and at least the primary's version, and the gateway's user needs `+wait +waitaof`.",
    },
    de: {
      message:
        'Kein Replikat bestätigt, was gespeichert ist: Neue Alarme liegen nur auf einer Maschine.',
      advice:
        'Weniger Replikate als `redis.replicas` bestätigen innerhalb von 2 s: Eines ist aus, abgeschnitten, kopiert noch, oder seine Platte hängt. Bringen Sie es wieder in Gang, bevor der Primärserver ausfällt: Was bis dahin bestätigt wird, geht verloren, wenn ein Replikat übernimmt, das es nicht hat. Die Störung endet, sobald ein Replikat wieder alles hat. Bleibt sie, obwohl das Replikat verbunden ist: Ab Redis 7.2 braucht dieses `appendonly yes` und mindestens die Version des Primärservers, und der Benutzer des Gateways die Rechte `+wait +waitaof`.',
    },
  },
  replicaAwayRefusing: {
    code: 'replica-missing',
    stops: true,
    en: {
      message: 'No replica confirms what is stored: nothing is acknowledged.',
      advice:
        '`redis.withoutReplica` is `refuse`. Bring a replica back. Until then alarms are forwarded live, and changes over HTTP are answered with 503.',
    },
    de: {
      message: 'Kein Replikat bestätigt, was gespeichert ist: Nichts wird bestätigt.',
      advice:
        '`redis.withoutReplica` ist `refuse`. Bringen Sie ein Replikat wieder in Gang. Solange werden Alarme live weitergeleitet und Änderungen über HTTP mit 503 beantwortet.',
    },
  },
  replicaCutOff: {
    code: 'replica-missing',
    stops: true,
    en: {
      message:
        'The store has no replica, and most Sentinels cannot be reached or do not take it for the primary: nothing is acknowledged.',
      advice:
        'This machine is cut off from the others, which may choose another primary. Check the network between the machines, and `redis-cli -p 26379 sentinel master <name>` on each of them. Name all Sentinels in `redis.sentinels`: more than half of them must answer.',
    },
    de: {
      message:
        'Der Speicher hat kein Replikat, und die meisten Sentinels sind nicht erreichbar oder halten ihn nicht für den Primärserver: Nichts wird bestätigt.',
      advice:
        'Diese Maschine ist von den anderen abgeschnitten, die einen anderen Primärserver wählen können. Prüfen Sie das Netz zwischen den Maschinen und auf jeder `redis-cli -p 26379 sentinel master <name>`. Nennen Sie in `redis.sentinels` alle Sentinels: Mehr als die Hälfte aller muss antworten.',
    },
  },
  maxmemoryPolicyUnsafe: {
    code: 'store-unsafe',
    stops: false,
    en: {
      message:
        'The store has maxmemory-policy {value}: when it runs out of memory, it deletes alarms that were acknowledged.',
      advice: 'Set `maxmemory-policy` to `noeviction`.',
    },
    de: {
      message:
        'Der Speicher hat maxmemory-policy {value}: Ist er voll, löscht er bereits bestätigte Alarme.',
      advice: 'Setzen Sie `maxmemory-policy` auf `noeviction`.',
    },
  },
  appendonlyOff: {
    code: 'store-unsafe',
    stops: false,
    en: {
      message:
        'The store has appendonly off: when it ends unexpectedly, all alarms since its last snapshot are lost.',
      advice: 'Set `appendonly` to `yes`.',
    },
    de: {
      message:
        'Im Speicher ist appendonly ausgeschaltet: Endet er unerwartet, sind alle Alarme seit seinem letzten Abbild verloren.',
      advice: 'Setzen Sie `appendonly` auf `yes`.',
    },
  },
  appendfsyncUnsafe: {
    code: 'store-unsafe',
    stops: false,
    en: {
      message:
        'The store has appendfsync {value}: a power cut there loses alarms that were acknowledged {lost}.',
      advice: 'Set `appendfsync` to `always`.',
    },
    de: {
      message:
        'Der Speicher hat appendfsync {value}: Bei einem Stromausfall dort gehen Alarme verloren, die {lost} bestätigt wurden.',
      advice: 'Setzen Sie `appendfsync` auf `always`.',
    },
  },
  storeLostData: {
    code: 'store-lost-data',
    stops: false,
    en: {
      message: 'The store has lost {lost}, noticed at {at}.',
      advice:
        'Acknowledged data is gone: it was deleted or evicted, a backup was restored, a replica took over, or the store was emptied. Check on the residents whose alarms may be missing, create again what is missing, and acknowledge the fault (`POST /faults/store-lost-data/acknowledge`).',
    },
    de: {
      message: 'Der Speicher hat verloren: {lost} (bemerkt um {at}).',
      advice:
        'Bestätigte Daten sind weg: Sie wurden gelöscht oder verdrängt, eine Sicherung wurde zurückgespielt, ein Replikat hat übernommen, oder der Speicher wurde geleert. Sehen Sie nach den Bewohnern, deren Alarme fehlen können, legen Sie Fehlendes neu an, und quittieren Sie die Störung.',
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;
