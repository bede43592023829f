const MAX_CHARACTERS = 300;

/** The beginning of a payload as text; invalid UTF-8 shows as U+FFFD. */
export function textOfBase64(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text;
}
