import { dictionary } from '../../../words/language.js';
import { MAX_LINES } from './device-csv.js';
import type { LineFault } from './import-plan.js';

const FAULTS_EN: Readonly<Record<LineFault, string>> = {
  'unclosed-quote': 'A quotation mark is opened and not closed.',
  'too-many-columns': 'There are more cells than columns.',
  'name-missing': 'There is no name.',
  'name-too-long': 'The name has more than 120 characters.',
  'name-invalid': 'The name has characters that cannot be shown.',
  'room-too-long': 'The room has more than 120 characters.',
  'room-invalid': 'The room has characters that cannot be shown.',
  'room-ambiguous': 'Several rooms have this name.',
  'group-too-long': 'The group has more than 120 characters.',
  'group-invalid': 'The group has characters that cannot be shown.',
  'group-without-room': 'There is a group, but no room to put in it.',
  'group-ambiguous': 'Several groups have this name.',
  'room-in-other-group': 'The room is in another group.',
  'custom-data-invalid': 'The custom data is not a JSON object.',
  'custom-data-too-large': 'The custom data has more than 1024 bytes.',
};
const FAULTS_DE: Readonly<Record<LineFault, string>> = {
  'unclosed-quote': 'Ein Anführungszeichen wird nicht geschlossen.',
  'too-many-columns': 'Es sind mehr Felder als Spalten.',
  'name-missing': 'Der Name fehlt.',
  'name-too-long': 'Der Name hat mehr als 120 Zeichen.',
  'name-invalid': 'Der Name enthält Zeichen, die sich nicht darstellen lassen.',
  'room-too-long': 'Das Zimmer hat mehr als 120 Zeichen.',
  'room-invalid': 'Das Zimmer enthält Zeichen, die sich nicht darstellen lassen.',
  'room-ambiguous': 'Mehrere Zimmer heißen so.',
  'group-too-long': 'Die Gruppe hat mehr als 120 Zeichen.',
  'group-invalid': 'Die Gruppe enthält Zeichen, die sich nicht darstellen lassen.',
  'group-without-room': 'Eine Gruppe ist angegeben, aber kein Zimmer.',
  'group-ambiguous': 'Mehrere Gruppen heißen so.',
  'room-in-other-group': 'Das Zimmer ist in einer anderen Gruppe.',
  'custom-data-invalid': 'Eigene Daten: kein JSON-Objekt.',
  'custom-data-too-large': 'Eigene Daten: mehr als 1024 Bytes.',
};

export const IMPORT_WORDS = dictionary({
  en: {
    title: 'Many devices from a CSV',
    hint: 'A line for each device: its name, and its room if it is in one. With semicolons or commas, with a header or without. With a header (name, room, group, customData) also the group of the room, and custom data as a JSON object.',
    file: 'File',
    text: 'Or type or paste the lines',
    example: 'Fall sensor, bed 1; Room 7',
    tooLong: `Only the first ${MAX_LINES} lines are read.`,
    devicesFound: (count: number) => (count === 1 ? '1 device' : `${count} devices`),
    faultsFound: (count: number) =>
      count === 1
        ? '1 line has a fault. Correct it first.'
        : `${count} lines have faults. Correct them first.`,
    line: 'Line',
    name: 'Name',
    room: 'Room',
    group: 'Group',
    customData: 'Custom data',
    unknownColumns: (names: string) => `Columns that are left out: ${names}`,
    check: 'Check',
    faults: FAULTS_EN,
    repeated: 'An earlier line is the same. Two devices will be created.',
    existing: 'There is such a device in this room already. Another one will be created.',
    newRoom: 'The room will be created.',
    newGroup: 'The group will be created.',
    roomGrouped: 'The room is in no group yet. It will be put into this one.',
    fine: 'In order',
    more: (count: number) => `And ${count} more lines in order`,
    create: (count: number) => (count === 1 ? 'Create 1 device' : `Create ${count} devices`),
    roomsTitle: (rooms: number, groups: number) => {
      const parts = [
        ...(groups > 0 ? [groups === 1 ? '1 group' : `${groups} groups`] : []),
        ...(rooms > 0 ? [rooms === 1 ? '1 room' : `${rooms} rooms`] : []),
      ];
      return `Create ${parts.join(' and ')}?`;
    },
    roomsHint: 'These do not exist yet. They are created with the devices.',
    roomsConfirm: 'Create rooms and devices',
    running: (done: number, all: number) => `${done} of ${all} created`,
    stop: 'Stop',
    stopped: (done: number, all: number) => `Stopped. ${done} of ${all} devices were created.`,
    rest: 'These devices were not created:',
    roomsMade: (names: string) => `Rooms created: ${names}`,
    goOn: 'Go on with the rest',
    leaveText: 'The devices are not created yet. Leave all the same? The lines would be lost.',
    leave: 'Devices are being created. Leave all the same? Their secrets would be lost.',
    showMade: 'Show the secrets of those created',
    noRights: 'This token may not create devices here.',
    fileName: 'devices',
  },
  de: {
    title: 'Viele Geräte aus einer CSV-Datei',
    hint: 'Eine Zeile für jedes Gerät: sein Name und sein Zimmer, wenn es in einem ist. Mit Semikolon oder Komma, mit Kopfzeile oder ohne. Mit einer Kopfzeile (Name, Zimmer, Gruppe, customData) auch die Gruppe des Zimmers, und eigene Daten als JSON-Objekt.',
    file: 'Datei',
    text: 'Oder die Zeilen eingeben oder einfügen',
    example: 'Sturzsensor, Bett 1; Zimmer 7',
    tooLong: `Nur die ersten ${MAX_LINES} Zeilen werden gelesen.`,
    devicesFound: (count: number) => (count === 1 ? '1 Gerät' : `${count} Geräte`),
    faultsFound: (count: number) =>
      count === 1
        ? '1 Zeile ist fehlerhaft. Berichtigen Sie sie zuerst.'
        : `${count} Zeilen sind fehlerhaft. Berichtigen Sie sie zuerst.`,
    line: 'Zeile',
    name: 'Name',
    room: 'Zimmer',
    group: 'Gruppe',
    customData: 'Eigene Daten',
    unknownColumns: (names: string) => `Spalten, die nicht übernommen werden: ${names}`,
    check: 'Prüfung',
    faults: FAULTS_DE,
    repeated: 'Eine frühere Zeile ist gleich. Es werden zwei Geräte angelegt.',
    existing: 'In diesem Zimmer gibt es schon ein solches Gerät. Es wird ein weiteres angelegt.',
    newRoom: 'Das Zimmer wird angelegt.',
    newGroup: 'Die Gruppe wird angelegt.',
    roomGrouped: 'Das Zimmer ist noch in keiner Gruppe. Es kommt in diese.',
    fine: 'In Ordnung',
    more: (count: number) => `Und ${count} weitere Zeilen in Ordnung`,
    create: (count: number) => (count === 1 ? '1 Gerät anlegen' : `${count} Geräte anlegen`),
    roomsTitle: (rooms: number, groups: number) => {
      const parts = [
        ...(groups > 0 ? [groups === 1 ? '1 Gruppe' : `${groups} Gruppen`] : []),
        ...(rooms > 0 ? [`${rooms} Zimmer`] : []),
      ];
      return `${parts.join(' und ')} anlegen?`;
    },
    roomsHint: 'Dies gibt es noch nicht. Es wird mit den Geräten angelegt.',
    roomsConfirm: 'Zimmer und Geräte anlegen',
    running: (done: number, all: number) => `${done} von ${all} angelegt`,
    stop: 'Anhalten',
    stopped: (done: number, all: number) =>
      `Angehalten. ${done} von ${all} Geräten wurden angelegt.`,
    rest: 'Diese Geräte wurden nicht angelegt:',
    roomsMade: (names: string) => `Angelegte Zimmer: ${names}`,
    goOn: 'Mit den übrigen fortfahren',
    leaveText:
      'Die Geräte sind noch nicht angelegt. Trotzdem verlassen? Die Zeilen gingen verloren.',
    leave:
      'Es werden gerade Geräte angelegt. Trotzdem verlassen? Ihre Geheimnisse gingen verloren.',
    showMade: 'Geheimnisse der angelegten zeigen',
    noRights: 'Dieser Token darf hier keine Geräte anlegen.',
    fileName: 'geraete',
  },
});
