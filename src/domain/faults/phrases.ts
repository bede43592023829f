import type { Phrase } from './faults.js';

/** The limits that slow a client down, in the units of their names. */
const UNITS = {
  messagesPerSecond: { en: 'messages a second', de: 'Nachrichten je Sekunde' },
  alarmsPerDay: { en: 'alarms a day', de: 'Alarmen am Tag' },
} as const;

/** A limit as a message shows it: `5,000 messages a second`. */
export function limitPhrase(name: keyof typeof UNITS, value: number): Phrase {
  const { en, de } = UNITS[name];
  return { en: `${value.toLocaleString('en')} ${en}`, de: `${value.toLocaleString('de')} ${de}` };
}

/** Since when alarms are lost if the power fails, depending on the store's `appendfsync`. */
export function lostAtPowerCut(appendfsync: string): Phrase {
  return appendfsync === 'everysec'
    ? { en: 'in the second before it', de: 'in der Sekunde davor' }
    : {
        en: 'since its system last wrote to disk',
        de: 'seit dem letzten Schreiben auf die Platte',
      };
}

/** Why a certificate and its key cannot be used; OpenSSL says this in many ways. */
export const NO_PAIR: Phrase = {
  en: 'not PEM, or not a matching pair',
  de: 'kein PEM, oder Schlüssel und Zertifikat passen nicht zusammen',
};
