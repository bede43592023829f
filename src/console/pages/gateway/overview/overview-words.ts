import { dictionary } from '../../../words/language.js';

/** Why a publish could not be used: `INVALID_PUBLISH_REASONS` of the gateway. */
interface ReasonWords {
  readonly [reason: string]: string;
}

/** What a fault is about: `FAULT_SUBJECTS` of the gateway. */
interface SubjectWords {
  readonly [type: string]: string;
}

export const OVERVIEW_WORDS = dictionary({
  en: {
    ready: 'The gateway is ready: alarms are taken, stored and forwarded.',
    notReady: 'The gateway is not ready: it cannot do its whole work.',
    version: 'Version',
    faults: 'Faults',
    noFaults: 'Nothing is wrong.',
    subjects: {
      location: 'Home',
      room: 'Room',
      group: 'Group',
      device: 'Device',
      'access-token': 'Access token',
      bridge: 'Bridge',
      session: 'Session',
      webhook: 'Webhook',
      address: 'Address',
    } as SubjectWords,
    through: (hub: string) => `through ${hub}`,
    createDevice: 'Create this device',
    chooseHome: 'Choose a home',
    create: 'Create',
    publishUnder: 'Created. Alarms from it are taken under',
    copyTopic: 'Copy the topic',
    whatToDo: 'What to do:',
    acknowledge: 'Acknowledge',
    rejected: 'Rejected publishes',
    rejectedHint:
      'What devices sent and could not be used, or only in part. The newest of each home.',
    show: 'Show',
    reading: (read: number, all: number) => `${read} of ${all} homes read …`,
    count: (count: number) => `${count} rejected publishes`,
    newest: (shown: number, all: number) => `The newest ${shown} of ${all} are shown.`,
    noneRejected: 'None were rejected.',
    received: 'Received',
    reasons: {
      'not-json': 'The alarm is no JSON in UTF-8. If its kind could be read, it was raised.',
      'not-an-object': 'An alarm must be a JSON object.',
      'unknown-kind': 'The kind of the alarm is missing, or none of the eight.',
      'invalid-footage':
        'The footage is no object, or not under the device’s own prefix. The alarm was raised without it.',
      'contradicting-kind': 'The topic and the payload have different kinds.',
      'not-permitted': 'The device may publish on its own topics only.',
      'payload-too-large': 'The alarm is larger than mqtt.maxAlarmBytes.',
      'reserved-topic': 'The topic is reserved.',
      'invalid-topic': 'The topic has too many levels, an empty one, or control characters.',
      'invalid-alarm-state':
        'A state of an alarm needs the alarm’s id, a state, and no invalid note.',
      'unknown-alarm': 'The device has raised no such alarm in this home.',
      'alarm-resolved': 'The alarm has been resolved, and cannot be acknowledged any more.',
    } as ReasonWords,
  },
  de: {
    ready: 'Das Gateway ist bereit: Alarme werden angenommen, gespeichert und weitergeleitet.',
    notReady: 'Das Gateway ist nicht bereit: Es kann nicht seine ganze Arbeit tun.',
    version: 'Version',
    faults: 'Störungen',
    noFaults: 'Alles in Ordnung.',
    subjects: {
      location: 'Heim',
      room: 'Zimmer',
      group: 'Gruppe',
      device: 'Gerät',
      'access-token': 'Zugangstoken',
      bridge: 'Brücke',
      session: 'Sitzung',
      webhook: 'Webhook',
      address: 'Adresse',
    } as SubjectWords,
    through: (hub: string) => `über ${hub}`,
    createDevice: 'Dieses Gerät anlegen',
    chooseHome: 'Heim auswählen',
    create: 'Anlegen',
    publishUnder: 'Angelegt. Seine Alarme werden angenommen unter',
    copyTopic: 'Topic kopieren',
    whatToDo: 'Was zu tun ist:',
    acknowledge: 'Quittieren',
    rejected: 'Unbrauchbare Sendungen',
    rejectedHint:
      'Was Geräte gesendet haben und nicht oder nur zum Teil verwendet werden konnte. Die neuesten jedes Heims.',
    show: 'Anzeigen',
    reading: (read: number, all: number) => `${read} von ${all} Heimen gelesen …`,
    count: (count: number) => `${count} unbrauchbare Sendungen`,
    newest: (shown: number, all: number) => `Die neuesten ${shown} von ${all} werden angezeigt.`,
    noneRejected: 'Keine waren unbrauchbar.',
    received: 'Empfangen',
    reasons: {
      'not-json':
        'Der Alarm ist kein JSON in UTF-8. War seine Art zu lesen, so wurde er ausgelöst.',
      'not-an-object': 'Ein Alarm muss ein JSON-Objekt sein.',
      'unknown-kind': 'Die Art des Alarms fehlt, oder ist keine der acht.',
      'invalid-footage':
        'Die Aufnahme ist kein Objekt, oder liegt nicht unter dem Präfix des Geräts. Der Alarm wurde ohne sie ausgelöst.',
      'contradicting-kind': 'Topic und Inhalt nennen verschiedene Arten.',
      'not-permitted': 'Das Gerät darf nur auf seinen eigenen Topics veröffentlichen.',
      'payload-too-large': 'Der Alarm ist größer als mqtt.maxAlarmBytes.',
      'reserved-topic': 'Das Topic ist reserviert.',
      'invalid-topic': 'Das Topic hat zu viele Ebenen, eine leere, oder Steuerzeichen.',
      'invalid-alarm-state':
        'Ein Zustand eines Alarms braucht dessen Id, einen Zustand und keine ungültige Notiz.',
      'unknown-alarm': 'Das Gerät hat in diesem Heim keinen solchen Alarm ausgelöst.',
      'alarm-resolved': 'Der Alarm ist erledigt und kann nicht mehr quittiert werden.',
    } as ReasonWords,
  },
});
