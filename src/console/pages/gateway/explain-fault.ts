import type { Language } from '../../words/language.js';
import { FAULTS_DE, VALUES_DE } from './faults-de.js';
import { FAULTS_EN } from './generated-faults.js';

/** A fault of the gateway in the reader's language. */
interface ExplainedFault {
  readonly text: string;
  /** What to do about it; undefined for a fault of a newer gateway. */
  readonly advice: string | undefined;
}

interface KnownFault {
  readonly name: keyof typeof FAULTS_EN;
  readonly whole: RegExp;
  /** The fault with others behind it: several of one source are one text. */
  readonly first: RegExp;
}

/** Behind the last of several faults that differ in their subject only. */
const MORE = '(?: \\((?<more>\\d+) more\\))?';

const KNOWN: readonly KnownFault[] = namesOf(FAULTS_EN).map((name) => {
  const pattern = name
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('(.*?)')
    // Where nothing is filled in, the space before it is not there either.
    .replaceAll(' (.*?)', '(?: (.*?))?');
  return {
    name,
    whole: new RegExp(`^${pattern}${MORE}$`),
    first: new RegExp(`^${pattern}(?= [A-Z])`),
  };
});

/** A fault in the reader's language, each sentence of it with what to do. */
export function explainFault(fault: string, language: Language): readonly ExplainedFault[] {
  for (const { name, whole } of KNOWN) {
    const found = whole.exec(fault);
    if (found !== null) return [explained(name, found, language)];
  }
  for (const { name, first } of KNOWN) {
    const found = first.exec(fault);
    if (found === null) continue;
    const rest = fault.slice(found[0].length).trim();
    return [explained(name, found, language), ...explainFault(rest, language)];
  }
  return [{ text: fault, advice: undefined }];
}

function explained(
  name: keyof typeof FAULTS_EN,
  found: RegExpExecArray,
  language: Language,
): ExplainedFault {
  const [text, ...values] = found;
  if (language === 'en') return { text, advice: sentence(FAULTS_EN[name]) };
  const words = FAULTS_DE[name];
  const filled = words.fault.replaceAll(/\{(\d)\}/g, (_, index) =>
    inGerman(values[Number(index)] ?? ''),
  );
  const more = found.groups?.['more'];
  return {
    text: more === undefined ? filled : `${filled} (${more} weitere)`,
    advice: words.advice,
  };
}

function inGerman(value: string): string {
  let text = value;
  for (const [english, german] of VALUES_DE) {
    text = text.replaceAll(new RegExp(`\\b${english}\\b`, 'g'), german);
  }
  return text;
}

/** A cell of a table begins small, and ends without a full stop. */
function sentence(cell: string): string {
  const begun = cell.charAt(0).toUpperCase() + cell.slice(1);
  return begun.endsWith('.') ? begun : `${begun}.`;
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  const isName = (key: string): key is Name => key in table;
  return Object.keys(table).filter(isName);
}
