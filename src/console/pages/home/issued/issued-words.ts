import { dictionary } from '../../../words/language.js';

export const ISSUED_WORDS = dictionary({
  en: {
    titleOne: 'Set up the device',
    titleMany: (count: number) => `Set up ${count} devices`,
    once: 'The secret is shown this once. Print it, or write it down, before you leave this page.',
    onceMany:
      'The secrets are shown this once. Print them, or download them, before you leave this page.',
    leave: 'The secrets are not shown again. Leave all the same?',
    address: 'Address of the gateway, as devices reach it',
    addressHint:
      'With a port if MQTT is on another one than 1883, or 8883 with TLS: gateway.example:18883',
    tls: 'Devices connect over TLS',
    localAddress:
      'Devices cannot reach the gateway under this name. Give its address in their network.',
    print: 'Print labels',
    download: 'Download as CSV',
    done: 'Done',
    id: 'Device id',
    secret: 'Secret',
    copyId: (name: string) => `Copy the id of ${name}`,
    copySecret: (name: string) => `Copy the secret of ${name}`,
    qrCode: (name: string) => `QR code of ${name}: address, port, id and secret`,
    noRoom: 'No room',
    notMoved: (name: string) => `${name} was created, but not put into its room.`,
  },
  de: {
    titleOne: 'Gerät einrichten',
    titleMany: (count: number) => `${count} Geräte einrichten`,
    once: 'Das Geheimnis wird nur dieses eine Mal gezeigt. Drucken oder notieren Sie es, bevor Sie die Seite verlassen.',
    onceMany:
      'Die Geheimnisse werden nur dieses eine Mal gezeigt. Drucken Sie sie, oder laden Sie sie herunter, bevor Sie die Seite verlassen.',
    leave: 'Die Geheimnisse werden nicht noch einmal gezeigt. Trotzdem verlassen?',
    address: 'Adresse des Gateways, wie die Geräte es erreichen',
    addressHint:
      'Mit Port, wenn MQTT auf einem anderen als 1883 ist, oder mit TLS 8883: gateway.example:18883',
    tls: 'Geräte verbinden sich über TLS',
    localAddress:
      'Unter diesem Namen erreichen die Geräte das Gateway nicht. Geben Sie seine Adresse im Netz der Geräte an.',
    print: 'Etiketten drucken',
    download: 'Als CSV herunterladen',
    done: 'Fertig',
    id: 'Geräte-ID',
    secret: 'Geheimnis',
    copyId: (name: string) => `ID von ${name} kopieren`,
    copySecret: (name: string) => `Geheimnis von ${name} kopieren`,
    qrCode: (name: string) => `QR-Code von ${name}: Adresse, Port, ID und Geheimnis`,
    noRoom: 'Kein Zimmer',
    notMoved: (name: string) => `${name} wurde angelegt, aber nicht in das Zimmer gebracht.`,
  },
});
