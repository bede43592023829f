import type { FaultKind } from './fault-kind.js';

/** The faults of bridges. */
export const BRIDGE_FAULTS = {
  bridgeMissing: {
    code: 'bridge-missing',
    stops: false,
    en: {
      message:
        'A bridge is missing from the configuration: its queue is kept until it is back, or deleted.',
      advice:
        'Add it again under the same name: it then gets everything that has waited. If it is not to come back, delete its queue in the console under Bridges, or with `DELETE /bridges/<name>`.',
    },
    de: {
      message:
        'Eine Brücke fehlt in der Konfiguration: Die Warteschlange bleibt, bis die Brücke wieder da ist oder die Warteschlange gelöscht wird.',
      advice:
        'Tragen Sie die Brücke unter demselben Namen wieder ein: Dann erhält sie alles, was gewartet hat. Soll sie nicht wiederkommen, löschen Sie ihre Warteschlange unter „Brücken“ oder mit `DELETE /bridges/<name>`.',
    },
  },
  bridgeRefused: {
    code: 'bridge-refused',
    stops: false,
    en: {
      message: 'The upstream of a bridge refuses alarms.',
      advice:
        "Look at the bridge's last error and its dead letters: the upstream's ACL may forbid its user to publish, or a quota is used up. What is refused for good is a dead letter; anything else waits, and is sent again. The fault ends when the upstream takes an alarm.",
    },
    de: {
      message: 'Die Gegenstelle einer Brücke weist Alarme ab.',
      advice:
        'Sehen Sie den letzten Fehler der Brücke und ihre unzustellbaren Nachrichten an: Vielleicht verbietet die ACL der Gegenstelle dem Benutzer das Veröffentlichen, oder ein Kontingent ist erschöpft. Endgültig Abgewiesenes ist unzustellbar, alles andere wartet und wird erneut gesendet. Die Störung endet, sobald die Gegenstelle einen Alarm annimmt.',
    },
  },
  bridgeUnreachable: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream cannot be reached.',
      advice: 'Check its name, address and port, and the network.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle ist nicht erreichbar.',
      advice: 'Prüfen Sie Name, Adresse, Port und Netz.',
    },
  },
  bridgeClosed: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream has closed the connection.',
      advice: "Look at the upstream's log: it may be full, restarting, or rejecting a message.",
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle hat die Verbindung geschlossen.',
      advice:
        'Sehen Sie in das Log der Gegenstelle: Sie ist voll, startet neu, oder stört sich an einer Nachricht.',
    },
  },
  bridgeSilent: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream does not answer.',
      advice: 'The upstream hangs, or the network in between does.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle antwortet nicht.',
      advice: 'Die Gegenstelle hängt, oder das Netz dazwischen.',
    },
  },
  bridgeTurnedAway: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream takes no connections now.',
      advice: 'The upstream is full or shutting down.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt zurzeit keine Verbindungen an.',
      advice: 'Die Gegenstelle ist voll oder wird gerade beendet.',
    },
  },
  bridgeMessageRefused: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream refuses a message.',
      advice:
        'The upstream cannot take it for now: its disk is full, or a quota is used up. The message is sent again on each connection.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle weist eine Nachricht ab.',
      advice:
        'Die Gegenstelle kann sie zurzeit nicht aufnehmen: Ihre Platte ist voll, oder ein Kontingent ist erschöpft. Die Nachricht wird bei jeder Verbindung erneut gesendet.',
    },
  },
  bridgeStoreRefuses: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the store cannot take what comes from the upstream.',
      advice: 'See the faults of the store.',
    },
    de: {
      message:
        'Eine Brücke ist unterbrochen: Der Speicher kann nicht aufnehmen, was von der Gegenstelle kommt.',
      advice: 'Siehe die Störungen des Speichers.',
    },
  },
  bridgeUntrusted: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: no trusted TLS connection to the upstream.',
      advice:
        'The certificate has expired, comes from another authority (`caFile`) or is for another name (`serverName`), or a file is not a certificate.',
    },
    de: {
      message:
        'Eine Brücke ist unterbrochen: keine vertrauenswürdige TLS-Verbindung zur Gegenstelle.',
      advice:
        'Das Zertifikat ist abgelaufen, stammt von einer anderen Stelle (`caFile`) oder gilt für einen anderen Namen (`serverName`), oder eine der Dateien ist kein Zertifikat.',
    },
  },
  bridgeCredentialsRefused: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream does not accept the credentials.',
      advice: "Check `username`, `password` and the upstream's ACL.",
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Zugangsdaten nicht an.',
      advice: 'Prüfen Sie `username`, `password` und die ACL der Gegenstelle.',
    },
  },
  bridgeClientIdRefused: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream does not accept the client id.',
      advice: 'Set `clientId`.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle nimmt die Client-ID nicht an.',
      advice: 'Setzen Sie `clientId`.',
    },
  },
  bridgeClientIdTaken: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: another client uses the client id of the bridge.',
      advice: 'Two gateways have the same `clientId`, or a data directory was copied.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Ein anderer Client benutzt die Client-ID der Brücke.',
      advice: 'Zwei Gateways haben dieselbe `clientId`, oder ein Datenverzeichnis wurde kopiert.',
    },
  },
  bridgePacketTooLarge: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream sends packets far over the limit.',
      advice:
        'A packet has more than four times `mqtt.maxPacketBytes`: the upstream is faulty, or not to be trusted.',
    },
    de: {
      message: 'Eine Brücke ist unterbrochen: Die Gegenstelle sendet Pakete weit über der Grenze.',
      advice:
        'Ein Paket hat mehr als das Vierfache von `mqtt.maxPacketBytes`: Die Gegenstelle ist fehlerhaft oder nicht vertrauenswürdig.',
    },
  },
  bridgeVersionRefused: {
    code: 'bridge-down',
    stops: false,
    en: {
      message: 'A bridge is down: the upstream does not speak this version of MQTT.',
      advice: 'Leave `protocol` out.',
    },
    de: {
      message:
        'Eine Brücke ist unterbrochen: Die Gegenstelle spricht diese Version von MQTT nicht.',
      advice: 'Lassen Sie `protocol` weg.',
    },
  },
  bridgeStuck: {
    code: 'bridge-stuck',
    stops: false,
    en: {
      message:
        'A bridge cannot deliver a message: the upstream refuses it, or closes the connection at it.',
      advice:
        'The log line `upstream closes the connection at a message` has its topic and alarm: find out why the upstream rejects it. If it takes other messages, the gateway makes a dead letter of this one.',
    },
    de: {
      message:
        'Eine Brücke kann eine Nachricht nicht zustellen: Die Gegenstelle weist sie ab oder schließt dabei die Verbindung.',
      advice:
        'Topic und Alarm stehen in der Logzeile `upstream closes the connection at a message`: Klären Sie, warum die Gegenstelle die Nachricht ablehnt. Nimmt sie andere an, gilt diese schließlich als unzustellbar.',
    },
  },
  bridgeLagging: {
    code: 'consumer-lagging',
    stops: false,
    en: {
      message: 'A bridge lags: its oldest message has waited for more than a minute.',
      advice: 'The upstream is down, or cannot keep up.',
    },
    de: {
      message: 'Eine Brücke hängt nach: Die älteste Nachricht wartet seit mehr als einer Minute.',
      advice: 'Die Gegenstelle ist unterbrochen, oder langsamer als das, was gesendet wird.',
    },
  },
  bridgeWithoutCommands: {
    code: 'bridge-commands-denied',
    stops: false,
    en: {
      message: 'A bridge gets no commands: the upstream denies the subscription.',
      advice: "Check `commands` and the upstream's ACL.",
    },
    de: {
      message: 'Eine Brücke erhält keine Befehle: Die Gegenstelle verweigert das Abonnement.',
      advice: 'Prüfen Sie `commands` und die ACL der Gegenstelle.',
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;
