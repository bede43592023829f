const MAX_CODE_POINTS = 120;
const CONTROL_CHARACTER = /\p{Cc}/u;
/** Everything that Unicode or JavaScript calls white space; `trim` alone would leave U+0085 there. */
const OUTER_SPACE = /^[\p{White_Space}\uFEFF]+|[\p{White_Space}\uFEFF]+$/gu;

/** A valid name, or its fault. */
export type NameResult = { readonly name: string } | { readonly fault: string };

/**
 * Parses the name of a location, room, group, device or access token.
 *
 * Trimmed, then 1 to 120 Unicode code points, without control characters or lone surrogates
 * (specification 8, CONTRACT 2).
 */
export function parseName(text: string): NameResult {
  if (!text.isWellFormed())
    return { fault: 'must be well-formed Unicode, without lone surrogates' };
  const name = text.replace(OUTER_SPACE, '');
  const length = [...name].length;
  if (length < 1 || length > MAX_CODE_POINTS) {
    return { fault: `must have 1 to ${MAX_CODE_POINTS} characters after trimming` };
  }
  if (CONTROL_CHARACTER.test(name)) return { fault: 'must not contain control characters' };
  return { name };
}
