import { dictionary } from '../../../words/language.js';

/** The kinds of a bridge's failure, `lastError.kind`. */
interface KindWords {
  readonly [kind: string]: string;
}

export const BRIDGES_WORDS = dictionary({
  en: {
    bridges: 'Bridges',
    hint: 'Bridges are configured in the gateway’s file.',
    none: 'No bridges are configured.',
    name: 'Bridge',
    connected: 'connected',
    down: 'down',
    refusing: 'the upstream refuses alarms',
    missing: 'missing from the configuration',
    remove: 'Delete',
    removeOf: (name: string) => `Delete the queue of ${name}`,
    removeAsk: (count: string) => `${count} messages that wait are deleted for good.`,
    acknowledged: 'Last acknowledged',
    kinds: {
      unreachable: 'the upstream cannot be reached',
      closed: 'the upstream has closed the connection',
      silent: 'the upstream does not answer',
      unavailable: 'the upstream takes no connections now',
      refused: 'the upstream refuses a message',
      store: 'the store cannot take what comes from the upstream',
      tls: 'no trusted TLS connection to the upstream',
      credentials: 'the upstream does not accept the credentials',
      'client-id': 'the upstream does not accept the client id',
      'taken-over': 'another client uses the client id of the bridge',
      'packet-too-large': 'the upstream sends packets far over the limit',
      protocol: 'the upstream does not speak this version of MQTT',
    } as KindWords,
  },
  de: {
    bridges: 'Brücken',
    hint: 'Brücken werden in der Datei des Gateways eingerichtet.',
    none: 'Es sind keine Brücken eingerichtet.',
    name: 'Brücke',
    connected: 'verbunden',
    down: 'unterbrochen',
    refusing: 'die Gegenstelle weist Alarme ab',
    missing: 'fehlt in der Konfiguration',
    remove: 'Löschen',
    removeOf: (name: string) => `Warteschlange von ${name} löschen`,
    removeAsk: (count: string) => `${count} wartende Nachrichten werden endgültig gelöscht.`,
    acknowledged: 'Zuletzt bestätigt',
    kinds: {
      unreachable: 'die Gegenstelle ist nicht erreichbar',
      closed: 'die Gegenstelle hat die Verbindung geschlossen',
      silent: 'die Gegenstelle antwortet nicht',
      unavailable: 'die Gegenstelle nimmt zurzeit keine Verbindungen an',
      refused: 'die Gegenstelle weist eine Nachricht ab',
      store: 'der Speicher kann nicht aufnehmen, was von der Gegenstelle kommt',
      tls: 'keine vertrauenswürdige TLS-Verbindung zur Gegenstelle',
      credentials: 'die Gegenstelle nimmt die Zugangsdaten nicht an',
      'client-id': 'die Gegenstelle nimmt die Client-ID nicht an',
      'taken-over': 'ein anderer Client benutzt die Client-ID der Brücke',
      'packet-too-large': 'die Gegenstelle sendet Pakete weit über der Grenze',
      protocol: 'die Gegenstelle spricht diese Version von MQTT nicht',
    } as KindWords,
  },
});
