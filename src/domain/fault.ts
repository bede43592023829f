/** A fault: what the part of the gateway that finds it reports, and the words for it in each language. */
import { FAULTS, type FaultCode, type FaultName } from './faults.js';

/** The languages in which the gateway says what is wrong. */
export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

export const FAULT_SUBJECTS = [
  'location',
  'room',
  'group',
  'device',
  'access-token',
  'bridge',
  'session',
  'webhook',
  'address',
] as const;

/** What a fault is about. Shown only to callers who may see it. */
export interface FaultSubject {
  readonly type: (typeof FAULT_SUBJECTS)[number];
  readonly id: string;
  /** The id again if there is no name. */
  readonly name: string;
  /** The access token of the hub that publishes for it. */
  readonly via?: { readonly id: string; readonly name: string } | undefined;
}

/** Words in each language. */
export type Phrase = Readonly<Record<Language, string>>;

/**
 * A value in a message.
 *
 * Everybody sees it: never the name or id of a device, location, token or client.
 */
export type FaultValue = string | number | Phrase;

/** A fault as reported by the part of the gateway that finds it. */
export interface FaultReport {
  readonly name: FaultName;
  readonly code: FaultCode;
  /** Whether the gateway is not ready while it lasts. */
  readonly stops: boolean;
  readonly values: Readonly<Record<string, FaultValue>>;
  readonly subject?: FaultSubject | undefined;
  /** RFC 3339; left out: since it was first reported. */
  readonly since?: string | undefined;
  /** Ends a fault that stays until an administrator has seen it. */
  readonly acknowledge?: (() => void) | undefined;
}

/** The names between braces. */
type Slots<Text extends string> = Text extends `${string}{${infer Slot}}${infer Rest}`
  ? Slot | Slots<Rest>
  : never;
type SlotsOf<Name extends FaultName> = Slots<(typeof FAULTS)[Name]['texts'][0]>;

/** @param values the values in its message, if it has any */
export function fault<Name extends FaultName>(
  name: Name,
  ...[values]: [SlotsOf<Name>] extends [never]
    ? []
    : [values: Readonly<Record<SlotsOf<Name>, FaultValue>>]
): FaultReport {
  const { code, stops } = FAULTS[name];
  return { name, code, stops, values: values ?? {} };
}

/** What is wrong and what to do about it, in a language. */
export function faultWords(
  { name, values, more }: Pick<FaultReport, 'name' | 'values'> & Pick<Fault, 'more'>,
  language: Language,
): { readonly message: string; readonly advice: string } {
  const [en, de] = FAULTS[name].texts;
  const [message = '', advice = ''] = (language === 'de' ? de : en).split('\n');
  const filled = message.replaceAll(/\{(\w+)\}/g, (_, slot: string) => {
    const value = values[slot] ?? '';
    return typeof value === 'object' ? value[language] : String(value);
  });
  if (more === undefined) return { message: filled, advice };
  const others = ` (${more} ${language === 'de' ? 'weitere' : 'more'}).`;
  return { message: filled.replace(/\.$/, others), advice };
}

/** A present fault. */
export interface Fault extends FaultReport {
  /** RFC 3339 */
  readonly since: string;
  /** How many faults like it this one stands for, which are not shown one by one. */
  readonly more?: number | undefined;
}

/** What `doctor` checks, in this order. */
export const CHECKS = [
  'configuration',
  'store',
  'disk',
  'clock',
  'certificate',
  'ports',
  'rights',
  'limits',
  'runtime',
] as const;
export const FINDING_STATES = ['ok', 'warn', 'fail'] as const;

/** What a check has found, in words; `advice` unless it is fine. */
export interface Finding {
  readonly check: (typeof CHECKS)[number];
  readonly state: (typeof FINDING_STATES)[number];
  readonly finding: string;
  readonly advice?: string;
}

/** Keeps only the oldest of the faults that look the same. */
export function withoutRepeats<Shown extends Pick<Fault, 'since'>>(
  faults: readonly Shown[],
): Shown[] {
  const shown = new Map<string, Shown>();
  for (const one of faults) {
    const look = JSON.stringify({ ...one, since: undefined });
    const same = shown.get(look);
    if (same === undefined || one.since < same.since) shown.set(look, one);
  }
  return [...shown.values()];
}

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
