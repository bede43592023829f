const MAX_NAME_CODE_POINTS = 120;
const MAX_NOTE_CODE_POINTS = 500;
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Everything that Unicode or JavaScript calls white space; `trim` alone would leave U+0085 there. */
const SPACE = /[\s\u0085]/;

/** A valid name, or its fault. */
export type NameResult = { readonly name: string } | { readonly fault: string };

/** A valid note, or its fault. */
export type NoteResult = { readonly note: string } | { readonly fault: string };

/**
 * Parses the name of a location, room, group, device or access token.
 *
 * Trimmed, then 1 to 120 Unicode code points, without control characters or lone surrogates
 * (specification 8, docs/contract.md, 2).
 */
export function parseName(text: string): NameResult {
  const name = trimmed(text);
  const fault = faultOf(name, MAX_NAME_CODE_POINTS);
  return fault === undefined ? { name } : { fault };
}

/** Parses the note to an alarm's state: by the rule for names, with up to 500 code points. */
export function parseNote(text: string): NoteResult {
  const note = trimmed(text);
  const fault = faultOf(note, MAX_NOTE_CODE_POINTS);
  return fault === undefined ? { note } : { fault };
}

/** Without one regular expression for it all, which takes quadratic time for white space that does not end the text. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function faultOf(text: string, maxCodePoints: number): string | undefined {
  if (!text.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  const length = [...text].length;
  if (length < 1 || length > maxCodePoints) {
    return `must have 1 to ${maxCodePoints} characters after trimming`;
  }
  return CONTROL_CHARACTER.test(text) ? 'must not contain control characters' : undefined;
}
