import type { FaultKind } from './fault-kind.js';

/** Clients that ask for more than their limits allow. */
export const CLIENT_FAULTS = {
  hubAway: {
    code: 'hub-away',
    stops: false,
    en: {
      message: 'A hub is away: no alarm can come from the sensors behind it.',
      advice:
        'Check its power and its network. Its sensors are online again with their first message. If the hub is not to come back, delete its access token.',
    },
    de: {
      message: 'Ein Hub ist weg: Von den Sensoren dahinter kann kein Alarm kommen.',
      advice:
        'Prüfen Sie Strom und Netz des Hubs. Seine Sensoren sind mit ihrer ersten Nachricht wieder online. Soll der Hub nicht wiederkommen, löschen Sie seinen Zugangstoken.',
    },
  },
  unknownDevice: {
    code: 'unknown-device',
    stops: false,
    en: {
      message: 'A hub has sent an alarm for a device that does not exist: nobody got it.',
      advice:
        'Create the device with this id, or have the hub publish under the id of an existing device (`devices/<id>/alarms`). The fault ends when the device exists, or after an hour.',
    },
    de: {
      message:
        'Ein Hub hat einen Alarm für ein unbekanntes Gerät gesendet: Niemand hat ihn bekommen.',
      advice:
        'Legen Sie das Gerät mit dieser ID an, oder lassen Sie den Hub unter der ID eines vorhandenen Geräts senden (`devices/<id>/alarms`). Die Störung endet, sobald es das Gerät gibt, oder nach einer Stunde.',
    },
  },
  alarmsWaiting: {
    code: 'alarms-waiting',
    stops: false,
    en: {
      message: 'Alarms have waited for more than a minute: somebody does not get them.',
      advice:
        'A nurse call, bridge or webhook is away, or does not acknowledge. Its alarms are stored, and reach it when it is back. If a session is not used any more, delete its access token, or connect once with a clean session.',
    },
    de: {
      message: 'Alarme warten seit über einer Minute: Jemand bekommt sie nicht.',
      advice:
        'Eine Rufanlage, eine Brücke oder ein Webhook ist weg oder quittiert nicht. Die Alarme sind gespeichert und kommen an, sobald die Verbindung wieder da ist. Wird eine Sitzung nicht mehr benutzt, löschen Sie ihren Zugangstoken, oder verbinden Sie sich einmal mit „clean session“.',
    },
  },
  tooManyConnections: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many connections: further ones are refused.',
      advice:
        'A client opens connections and does not close them, or several clients share a credential (`too-many-connections`).',
    },
    de: {
      message: 'Zu viele Verbindungen, weitere werden abgewiesen.',
      advice:
        'Ein Client öffnet Verbindungen und schließt sie nicht, oder mehrere teilen sich Zugangsdaten (`too-many-connections`).',
    },
  },
  gatewayFull: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Nearly all connections of the gateway are in use: further ones are refused.',
      advice: 'Raise `LimitNOFILE`; 50,000 connections are the most (`gateway-full`).',
    },
    de: {
      message: 'Fast alle Verbindungen des Gateways sind belegt, weitere werden abgewiesen.',
      advice: 'Erhöhen Sie `LimitNOFILE`; 50.000 Verbindungen sind das Höchste (`gateway-full`).',
    },
  },
  tooManyNewcomers: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many connections without a login: the oldest of them are closed.',
      advice:
        'These addresses open connections on which no complete CONNECT follows: find out why.',
    },
    de: {
      message: 'Zu viele Verbindungen ohne Anmeldung, die ältesten werden geschlossen.',
      advice:
        'Von diesen Adressen werden Verbindungen geöffnet, auf denen kein ganzes CONNECT folgt: Sehen Sie dort nach.',
    },
  },
  tooManyHttpConnections: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many HTTP connections: further ones are closed.',
      advice: 'An address opens more than `http.maxConnectionsPerAddress`: find out why.',
    },
    de: {
      message: 'Zu viele HTTP-Verbindungen, weitere werden geschlossen.',
      advice: 'Eine Adresse öffnet mehr als `http.maxConnectionsPerAddress`: Sehen Sie dort nach.',
    },
  },
  httpFull: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'All HTTP connections of the gateway are in use: idle ones are closed.',
      advice:
        'Look at the addresses named: they hold more than their share. Or raise `http.maxConnections`.',
    },
    de: {
      message: 'Alle HTTP-Verbindungen des Gateways sind belegt, ruhende werden geschlossen.',
      advice:
        'Sehen Sie bei den genannten Adressen nach: Sie haben mehr als ihren Anteil. Oder erhöhen Sie `http.maxConnections`.',
    },
  },
  tooManyWebSocketFrames: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many WebSocket frames without an MQTT packet: the connections are closed.',
      advice:
        'These addresses send text frames, frames over `mqtt.maxPacketBytes`, messages in more than 4,096 fragments, frames that break the protocol, or empty frames and pings without a pause: find out why.',
    },
    de: {
      message: 'Zu viele WebSocket-Frames ohne MQTT-Paket, die Verbindungen werden geschlossen.',
      advice:
        'Von diesen Adressen kommen leere, zu große oder fehlerhafte Frames, oder Pings ohne Pause: Sehen Sie dort nach.',
    },
  },
  tooManyFailedLogins: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many failed logins: further ones are refused unchecked for some seconds.',
      advice:
        'Somebody is guessing, or a device has an old secret. `GET /connections/denied` has the user names.',
    },
    de: {
      message:
        'Zu viele fehlgeschlagene Anmeldungen, weitere werden einige Sekunden lang nicht geprüft.',
      advice:
        'Jemand rät, oder ein Gerät hat ein veraltetes Passwort. Die Benutzernamen stehen unter „Verbindungen“ bei den abgewiesenen.',
    },
  },
  tooManySessions: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message:
        'Too many persistent sessions: further ones are refused or take the place of old ones.',
      advice:
        'A client comes with a new client id at each start: give it a fixed one (`too-many-sessions`).',
    },
    de: {
      message: 'Zu viele dauerhafte Sitzungen, weitere werden abgewiesen oder verdrängen alte.',
      advice:
        'Ein Client meldet sich bei jedem Start mit einer neuen Client-ID: Geben Sie ihm eine feste (`too-many-sessions`).',
    },
  },
  tooManySubscriptions: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many subscriptions: further ones are refused.',
      advice: 'Use fewer, wider filters (`too-many-subscriptions`).',
    },
    de: {
      message: 'Zu viele Abonnements, weitere werden abgewiesen.',
      advice: 'Abonnieren Sie weniger, dafür weiter gefasste Filter (`too-many-subscriptions`).',
    },
  },
  tooManyUnreadBytes: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many unread bytes: a connection that takes none for five seconds is closed.',
      advice:
        'A subscriber hangs, or its network is too slow. Alarms for a persistent session wait; messages at QoS 0 are missed.',
    },
    de: {
      message:
        'Zu viele ungelesene Bytes; eine Verbindung, die fünf Sekunden lang nichts abnimmt, wird geschlossen.',
      advice:
        'Ein Empfänger hängt, oder das Netz ist zu langsam für ihn. Alarme einer dauerhaften Sitzung warten; Nachrichten mit QoS 0 verpasst er.',
    },
  },
  tooManyRetained: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many retained messages: further ones are forwarded and not retained.',
      advice:
        'Use fewer topics or smaller values: a device may have 500 retained messages, and 4 MiB.',
    },
    de: {
      message: 'Zu viele aufbewahrte Nachrichten (retained), weitere werden nur weitergeleitet.',
      advice:
        'Verwenden Sie weniger Topics oder kleinere Werte: Ein Gerät darf 500 aufbewahrte Nachrichten haben, und 4 MiB.',
    },
  },
  tooManyRecordings: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Too many recordings: further ones are refused.',
      advice: 'Raise `limits.device.footageBytes`, or shorten `history.retentionDays`.',
    },
    de: {
      message: 'Zu viele Aufnahmen, weitere werden abgewiesen.',
      advice:
        'Erhöhen Sie `limits.device.footageBytes`, oder verkürzen Sie `history.retentionDays`.',
    },
  },
  deviceSlowed: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'A device is slowed to its limit of {limit}.',
      advice:
        'It sends more than such a device should: look at what it sends. If it connects again and again, check its network, and whether two clients use its client id. If it stands for many sensors, raise `limits.device`.',
    },
    de: {
      message: 'Ein Gerät wird auf seine Grenze von {limit} gebremst.',
      advice:
        'Es sendet mehr, als ein Gerät wie dieses sollte: Sehen Sie nach, was. Verbindet es sich immer wieder, prüfen Sie sein Netz, und ob zwei Clients seine Client-ID haben. Steht es für viele Sensoren, erhöhen Sie `limits.device`.',
    },
  },
  tokenSlowed: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'An access token is slowed to its limit of {limit}.',
      advice:
        'Its client sends more commands than it should, or subscribes or connects again and again.',
    },
    de: {
      message: 'Ein Zugangstoken wird auf seine Grenze von {limit} gebremst.',
      advice:
        'Sein Client sendet mehr Befehle, als er sollte, oder abonniert oder verbindet sich immer wieder.',
    },
  },
  othersSlowed: {
    code: 'limit-exceeded',
    stops: false,
    en: {
      message: 'Further clients are slowed.',
      advice: 'The first five have a fault each.',
    },
    de: {
      message: 'Weitere Clients werden gebremst.',
      advice: 'Für die ersten fünf gibt es je eine Störung.',
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;
