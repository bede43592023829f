import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { LANGUAGES, type Language } from '../domain/fault.js';

/**
 * The language of the gateway that the caller prefers (RFC 9110, 12.5.4); English by default.
 *
 * Marks the answer with its language, and as dependent on the caller's choice.
 */
export function answerLanguage(c: Context): Language {
  c.header('Vary', 'Accept-Language', { append: true });
  const preferred = accepts(c, {
    header: 'Accept-Language',
    supports: [...LANGUAGES],
    default: 'en',
    // `de-AT` asks for German.
    match: (ranges, { default: otherwise }) => {
      const byWeight = ranges.filter(({ q }) => q > 0).sort((one, other) => other.q - one.q);
      return byWeight.map(({ type }) => languageIn(type)).find(Boolean) ?? otherwise;
    },
  });
  const language = languageIn(preferred) ?? 'en';
  c.header('Content-Language', language);
  return language;
}

function languageIn(range: string): Language | undefined {
  return LANGUAGES.find((language) => range.toLowerCase().split('-')[0] === language);
}
