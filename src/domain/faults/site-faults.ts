import type { FaultKind } from './fault-kind.js';

/** What can be wrong with devices, destinations, and the records of the site. */
export const SITE_FAULTS = {
  standingBy: {
    code: 'standing-by',
    stops: true,
    en: {
      message: 'This gateway stands by: another one serves the site.',
      advice:
        'Nothing, while the other one serves. It takes over when that one ends or is cut off.',
    },
    de: {
      message: 'Dieses Gateway steht bereit: Ein anderes bedient die Heime.',
      advice:
        'Nichts, solange das andere läuft. Es übernimmt, wenn jenes endet oder abgeschnitten ist.',
    },
  },
  accountBroken: {
    code: 'account-broken',
    stops: false,
    en: {
      message: 'The account of a destination does not add up.',
      advice:
        'What it accepted is not the sum of what was delivered, is queued, has expired and was dropped: somebody has changed the store by hand, or it is damaged. Compare `gateway_consumer_…` in `/metrics`, check who has access to the store, and acknowledge the fault (`POST /faults/account-broken/acknowledge`): it is then counted anew.',
    },
    de: {
      message: 'Die Buchführung eines Ziels geht nicht auf.',
      advice:
        'Was angenommen wurde, ist nicht die Summe dessen, was zugestellt wurde, wartet, verfallen ist und verworfen wurde: Jemand hat den Speicher von Hand geändert, oder er ist beschädigt. Prüfen Sie, wer Zugang zum Speicher hat, und quittieren Sie die Störung: Danach wird neu gezählt.',
    },
  },
  queueGrowing: {
    code: 'consumer-lagging',
    stops: false,
    en: {
      message: 'A queue is more than half full.',
      advice:
        'More than half of `maxQueuedMessages` waits for this destination, alarms included: bring it back, or delete its access token.',
    },
    de: {
      message: 'Eine Warteschlange ist mehr als halb voll.',
      advice:
        'Für diesen Empfänger oder diese Brücke wartet mehr als die Hälfte von `maxQueuedMessages`: Bringen Sie sie wieder in Gang, oder löschen Sie den Token.',
    },
  },
  sessionUnreadable: {
    code: 'record-damaged',
    stops: false,
    en: {
      message: 'A stored session cannot be read: its backlog is lost.',
      advice:
        'A record of the store is damaged: this client must subscribe again. The fault stays until the next start. The log line `failed to read stored sessions` has all of them.',
    },
    de: {
      message: 'Eine gespeicherte Sitzung ist nicht lesbar, ihr Rückstand ist verloren.',
      advice:
        'Ein Datensatz des Speichers ist beschädigt; dieser Client muss neu abonnieren. Die Störung bleibt bis zum nächsten Start. Alle stehen in der Logzeile `failed to read stored sessions`.',
    },
  },
  deviceUnreadable: {
    code: 'device-unreadable',
    stops: false,
    en: {
      message: 'An alarm of a device cannot be read.',
      advice:
        'See what it sent (`GET /care-homes/<location>/rejected`), and set the device up correctly. The fault ends with the next good alarm.',
    },
    de: {
      message: 'Ein Alarm eines Geräts ist nicht lesbar.',
      advice:
        'Sehen Sie unter „Unbrauchbare Sendungen“ nach, was es gesendet hat, und richten Sie das Gerät richtig ein. Die Störung endet mit dem nächsten guten Alarm.',
    },
  },
  deviceSilent: {
    code: 'device-silent',
    stops: false,
    en: {
      message: 'A device is silent: nothing comes from it any more.',
      advice:
        'Check its battery, its network and its place: an alarm from it might not arrive either. If many fall silent at once, check the switch, the access point or the hub. `GET /care-homes/<location>/supervision` lists all of them. The fault ends when the device is heard.',
    },
    de: {
      message: 'Ein Gerät ist verstummt: Von ihm kommt nichts mehr.',
      advice:
        'Prüfen Sie Batterie, Netz und Standort: Auch ein Alarm von ihm käme vielleicht nicht an. Verstummen viele auf einmal, prüfen Sie Switch, Access Point oder Hub. `GET /care-homes/<location>/supervision` nennt alle. Die Störung endet, sobald das Gerät wieder zu hören ist.',
    },
  },
  webhookRefusing: {
    code: 'output-failing',
    stops: false,
    en: {
      message: 'The receiver of a webhook refuses alarms: {reason}.',
      advice:
        'Mend the receiver. What it refuses for good is a dead letter: send those again under Webhooks, or with `POST /outputs/<name>/dead-letters/send-again`. Anything else waits, and is tried again. The fault ends when it takes an alarm.',
    },
    de: {
      message: 'Der Empfänger eines Webhooks weist Alarme ab: {reason}.',
      advice:
        'Bringen Sie den Empfänger in Ordnung. Was er endgültig abweist, ist unzustellbar: Senden Sie es unter „Webhooks“ erneut, oder mit `POST /outputs/<name>/dead-letters/send-again`. Alles andere wartet und wird erneut versucht. Die Störung endet, sobald er einen Alarm annimmt.',
    },
  },
  webhookFailing: {
    code: 'output-failing',
    stops: false,
    en: {
      message: 'A webhook is failing: {reason}.',
      advice:
        'Everything for this receiver waits and is tried again. If it answers with an error, look at its log. If it does not answer, check the address, the name server, the certificate and the firewall. If its address is private and that is intended, set `allowPrivate`.',
    },
    de: {
      message: 'Ein Webhook kann nicht zustellen: {reason}.',
      advice:
        'Alles für diesen Empfänger wartet und wird erneut versucht. Antwortet er mit einem Fehler, sehen Sie in seinem Log nach. Antwortet er nicht, prüfen Sie Adresse, Namensserver, Zertifikat und Firewall. Ist seine Adresse privat und das so gewollt, setzen Sie `allowPrivate`.',
    },
  },
  drillUnacknowledged: {
    code: 'drill-failed',
    stops: false,
    en: {
      message: 'A destination has not acknowledged the last drill within 60 s.',
      advice:
        'Alarms reach it late or not at all. Check that it is connected and subscribed (`GET /sessions`, `GET /bridges`, `GET /outputs`) and repair it. If nobody uses the session any more, delete its access token. Then start another drill.',
    },
    de: {
      message: 'Ein Ziel hat den letzten Probealarm nicht innerhalb von 60 s quittiert.',
      advice:
        'Alarme kommen dort zu spät oder gar nicht an: Prüfen Sie, ob das Ziel verbunden ist und abonniert hat (`GET /sessions`, `GET /bridges`, `GET /outputs`), und bringen Sie es in Ordnung. Benutzt niemand mehr die Sitzung, löschen Sie ihren Zugangstoken. Lösen Sie dann einen weiteren Probealarm aus.',
    },
  },
  drillWithoutDestination: {
    code: 'drill-failed',
    stops: false,
    en: {
      message: 'The last drill of a location had no destination.',
      advice:
        'No persistent session, bridge or webhook gets the alarms of the location. Check that the nurse call has connected with a persistent session and has subscribed (`GET /sessions`). Then start another drill.',
    },
    de: {
      message: 'Der letzte Probealarm einer Einrichtung hatte kein Ziel.',
      advice:
        'Keine dauerhafte Sitzung, keine Bridge und kein Webhook bekommt die Alarme der Einrichtung. Prüfen Sie, ob die Rufanlage mit einer dauerhaften Sitzung verbunden ist und abonniert hat (`GET /sessions`). Lösen Sie dann einen weiteren Probealarm aus.',
    },
  },
  recordUnreadable: {
    code: 'record-damaged',
    stops: false,
    en: {
      message: 'The store holds an unreadable record of {record}: it is left out.',
      advice:
        'Restore the record from a backup and restart the gateway, or create again what is missing. The sessions of a device or token are kept until then.',
    },
    de: {
      message: 'Der Speicher hat einen unlesbaren Datensatz ({record}), der daher fehlt.',
      advice:
        'Stellen Sie den Datensatz aus einer Sicherung wieder her und starten Sie das Gateway neu, oder legen Sie das Fehlende neu an. Die Sitzungen eines Geräts oder Tokens bleiben solange erhalten.',
    },
  },
  locationLost: {
    code: 'record-damaged',
    stops: false,
    en: {
      message: 'The store has no readable record of a location: its id serves as its name.',
      advice: 'Rename the location.',
    },
    de: {
      message: 'Der Speicher hat keinen lesbaren Datensatz eines Heims: Die ID dient als Name.',
      advice: 'Benennen Sie das Heim um.',
    },
  },
  roomLost: {
    code: 'record-damaged',
    stops: false,
    en: {
      message: 'The room of a device is missing.',
      advice: 'Move the device into a room.',
    },
    de: {
      message: 'Das Zimmer eines Geräts fehlt.',
      advice: 'Verschieben Sie das Gerät in ein Zimmer.',
    },
  },
  groupLost: {
    code: 'record-damaged',
    stops: false,
    en: {
      message: 'The group of a room is missing.',
      advice: 'Put the room into a group.',
    },
    de: {
      message: 'Die Gruppe eines Zimmers fehlt.',
      advice: 'Ordnen Sie das Zimmer einer Gruppe zu.',
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;
