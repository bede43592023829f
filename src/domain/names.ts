/** The names that people give, and their notes. */

const MAX_CODE_POINTS = { name: 120, note: 500 };
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Embeddings, overrides and isolates, for a character class: displays reverse the text after them (UAX #9, 2). */
export const DIRECTIONAL_CONTROLS = '\\u202a-\\u202e\\u2066-\\u2069';
const DIRECTIONAL_CONTROL = new RegExp(`[${DIRECTIONAL_CONTROLS}]`);
/** Characters that show nothing, for a character class: Unicode's default ignorables (no plane 14), blank braille. */
export const INVISIBLES =
  '\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f' +
  '\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8';
const VISIBLE_CHARACTER = new RegExp(`[^\\s${INVISIBLES}\\u{e0000}-\\u{e0fff}]`, 'u');
/** Everything that Unicode or JavaScript calls white space; `trim` alone would leave U+0085. */
const SPACE = /[\s\u0085]/;

/** A valid name or note, or its fault. */
export type TextResult = { readonly text: string } | { readonly fault: string };

/**
 * Parses the name of a location, room, group, device or access token; or a note to an alarm's state.
 *
 * Trimmed, then 1 to 120 or 500 Unicode code points, at least one of them visible, without control characters,
 * directional controls or lone surrogates (contract 2).
 */
export function parseText(kind: 'name' | 'note', sent: string): TextResult {
  const text = trimmed(sent);
  const fault = faultOf(text, MAX_CODE_POINTS[kind]);
  return fault === undefined ? { text } : { fault };
}

/** A single regular expression would take quadratic time for white space that does not end the text. */
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
  if (CONTROL_CHARACTER.test(text)) return 'must not contain control characters';
  if (DIRECTIONAL_CONTROL.test(text)) return 'must not contain directional controls';
  return VISIBLE_CHARACTER.test(text) ? undefined : 'must have a visible character';
}
