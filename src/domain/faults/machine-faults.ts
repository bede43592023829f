import type { FaultKind } from './fault-kind.js';

/** What can be wrong with the machine: its disk, clock, certificate and processor. */
export const MACHINE_FAULTS = {
  diskFilling: {
    code: 'disk-nearly-full',
    stops: false,
    en: {
      message: 'The disk with the data directory has less than {mebibytes} MiB left.',
      advice:
        'Make room, or soon no alarm can be stored. Below 64 MiB (or a twentieth of a small disk) only alarms are stored.',
    },
    de: {
      message: 'Die Platte mit dem Datenverzeichnis hat weniger als {mebibytes} MiB frei.',
      advice:
        'Schaffen Sie Platz, sonst können bald keine Alarme mehr gespeichert werden. Unter 64 MiB (oder einem Zwanzigstel) werden nur noch Alarme gespeichert.',
    },
  },
  diskFull: {
    code: 'disk-full',
    stops: true,
    en: {
      message: 'The disk with the data directory is full.',
      advice: 'Make room: less than 1 MiB is free.',
    },
    de: {
      message: 'Die Platte mit dem Datenverzeichnis ist voll.',
      advice: 'Schaffen Sie Platz: Weniger als 1 MiB ist frei.',
    },
  },
  diskReadOnly: {
    code: 'disk-read-only',
    stops: true,
    en: {
      message: 'The disk with the data directory is read-only.',
      advice: 'The kernel makes a failing disk read-only: replace it.',
    },
    de: {
      message: 'Die Platte mit dem Datenverzeichnis ist schreibgeschützt.',
      advice: 'Der Kernel schaltet eine ausfallende Platte auf schreibgeschützt: Ersetzen Sie sie.',
    },
  },
  dataDirectoryUnwritable: {
    code: 'data-directory-unusable',
    stops: true,
    en: {
      message: 'The data directory cannot be written.',
      advice: "Check the rights of the gateway's user.",
    },
    de: {
      message: 'In das Datenverzeichnis kann nicht geschrieben werden.',
      advice: 'Prüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft.',
    },
  },
  dataDirectoryUnreadable: {
    code: 'data-directory-unusable',
    stops: true,
    en: {
      message: 'The data directory is unreadable.',
      advice: "Check the rights of the gateway's user, and the disk.",
    },
    de: {
      message: 'Das Datenverzeichnis ist nicht lesbar.',
      advice: 'Prüfen Sie die Rechte des Benutzers, unter dem das Gateway läuft, oder die Platte.',
    },
  },
  clockJumped: {
    code: 'clock-jumped',
    stops: true,
    en: {
      message: 'The clock of this machine has jumped by {seconds} s.',
      advice: 'Nothing, if it was corrected.',
    },
    de: {
      message: 'Die Uhr dieses Rechners ist um {seconds} s gesprungen.',
      advice: 'Nichts, wenn sie richtig gestellt wurde.',
    },
  },
  clockUnset: {
    code: 'clock-doubtful',
    stops: false,
    en: {
      message: 'The clock of this machine is not set: it shows a time before 2020.',
      advice: 'Set it. A box without a battery-backed clock needs NTP.',
    },
    de: {
      message: 'Die Uhr dieses Rechners ist nicht gestellt: Sie zeigt eine Zeit vor 2020.',
      advice: 'Stellen Sie sie; ein Rechner ohne gepufferte Uhr braucht NTP.',
    },
  },
  clockBehind: {
    code: 'clock-doubtful',
    stops: false,
    en: {
      message: 'The clock of this machine is behind: it has shown {shown} before.',
      advice:
        'Correct it; if it is right, leave it running for a day. A clock that ran ahead for a whole day keeps the right one in doubt.',
    },
    de: {
      message: 'Die Uhr dieses Rechners geht nach: Sie hat schon {shown} gezeigt.',
      advice:
        'Stellen Sie die Uhr richtig; geht sie richtig, lassen Sie sie einen Tag lang laufen.',
    },
  },
  clockAhead: {
    code: 'clock-doubtful',
    stops: false,
    en: {
      message:
        'The clock of this machine may be wrong: it is over a day ahead of when it was last seen ({seen}).',
      advice: 'Correct it; if it is right, leave it running for a day.',
    },
    de: {
      message:
        'Die Uhr dieses Rechners geht vielleicht falsch: Sie ist mehr als einen Tag weiter als zuletzt gesehen ({seen}).',
      advice:
        'Stellen Sie die Uhr richtig; geht sie richtig, lassen Sie sie einen Tag lang laufen.',
    },
  },
  certificateEnding: {
    code: 'certificate-expiring',
    stops: false,
    en: {
      message: 'The TLS certificate expires in {days}.',
      advice: 'Renew it. The gateway reads the new files automatically.',
    },
    de: {
      message: 'Das TLS-Zertifikat läuft in {days} ab.',
      advice: 'Erneuern Sie es. Neue Dateien liest das Gateway von selbst.',
    },
  },
  certificateEnded: {
    code: 'certificate-expiring',
    stops: false,
    en: {
      message: 'The TLS certificate has expired.',
      advice: 'Renew it. Clients that check it can no longer connect; existing connections stay.',
    },
    de: {
      message: 'Das TLS-Zertifikat ist abgelaufen.',
      advice:
        'Erneuern Sie es. Clients, die es prüfen, können sich nicht mehr verbinden; bestehende Verbindungen bleiben.',
    },
  },
  certificateUnusable: {
    code: 'certificate-unusable',
    stops: false,
    en: {
      message: 'The new TLS certificate or its key cannot be used ({reason}): the old one stays.',
      advice:
        "The gateway's user cannot read the files under `tls`, they are not PEM or not complete, or the key belongs to another certificate. The fault ends once they can be used.",
    },
    de: {
      message:
        'Das neue TLS-Zertifikat oder sein Schlüssel ist nicht verwendbar ({reason}): Das alte bleibt in Gebrauch.',
      advice:
        'Die Dateien unter `tls` sind für den Benutzer des Gateways nicht lesbar, kein PEM oder nicht vollständig, oder der Schlüssel gehört zu einem anderen Zertifikat.',
    },
  },
  runtimeUnsupported: {
    code: 'runtime-unsupported',
    stops: false,
    en: {
      message: 'Node.js {version} has had no security fixes since {since}.',
      advice: 'Install a supported release: 22, or better 24. The gateway works as before.',
    },
    de: {
      message: 'Node.js {version} bekommt seit {since} keine Sicherheitskorrekturen mehr.',
      advice:
        'Installieren Sie eine unterstützte Version: 22, besser 24. Das Gateway arbeitet wie bisher.',
    },
  },
  processorBusy: {
    code: 'processor-busy',
    stops: false,
    en: {
      message: 'HTTP and TLS clients take much of the processor.',
      advice:
        'The client or address has used a quarter of it for five seconds, or has asked for more than its share: find out why. Alarms do not wait for it.',
    },
    de: {
      message: 'HTTP- und TLS-Clients beanspruchen den Prozessor stark.',
      advice:
        'Der Client oder die Adresse hat fünf Sekunden lang ein Viertel davon gebraucht, oder mehr als seinen Anteil verlangt: Finden Sie heraus, warum. Alarme warten nicht darauf.',
    },
  },
} as const satisfies Readonly<Record<string, FaultKind>>;
