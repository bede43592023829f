import { dictionary } from '../../words/language.js';

export const LOSSES_WORDS = dictionary({
  en: {
    losses: 'Losses of the store',
    hint: 'What was acknowledged and is gone: after a restored backup, a failover, or when the store was emptied. Each is a fault until somebody has acknowledged it.',
    none: 'Nothing was lost.',
    noticed: 'Noticed',
    what: 'What',
    kinds: {
      store: 'Everything stored',
      alarms: 'Alarms',
      messages: 'Other messages',
      audit: 'Records of the audit trail',
    },
    count: 'How many',
    upTo: (count: string) => `up to ${count}`,
    unknown: 'unknown',
    numbers: 'Numbers',
    acknowledged: 'Acknowledged',
    acknowledge: 'Acknowledge',
    ask: 'Acknowledge this loss? It is a fault no longer then. The record says who did.',
  },
  de: {
    losses: 'Verluste des Speichers',
    hint: 'Was bestätigt war und weg ist: nach einer zurückgespielten Sicherung, einem Wechsel des Servers, oder wenn der Speicher geleert wurde. Jeder ist eine Störung, bis ihn jemand bestätigt.',
    none: 'Nichts ging verloren.',
    noticed: 'Bemerkt',
    what: 'Was',
    kinds: {
      store: 'Alles Gespeicherte',
      alarms: 'Alarme',
      messages: 'Andere Nachrichten',
      audit: 'Einträge des Protokolls',
    },
    count: 'Wie viele',
    upTo: (count: string) => `bis zu ${count}`,
    unknown: 'unbekannt',
    numbers: 'Nummern',
    acknowledged: 'Bestätigt',
    acknowledge: 'Bestätigen',
    ask: 'Diesen Verlust bestätigen? Er ist dann keine Störung mehr. Das Protokoll nennt, wer es tat.',
  },
});
