import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../console-parts.js';
import { LOCALES, language } from '../language.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const UNITS = [
  { unit: 'day', ms: DAY_MS },
  { unit: 'hour', ms: HOUR_MS },
  { unit: 'minute', ms: MINUTE_MS },
  { unit: 'second', ms: SECOND_MS },
] as const;

// Created once: creating one takes longer than drawing a row.
const AGO_FORMATS = { en: agoFormat('en'), de: agoFormat('de') };
const DATE_FORMATS = { en: dateFormat(LOCALES.en), de: dateFormat(LOCALES.de) };

/** How long ago something was, in words. */
export function ago(atMs: number, nowMs: number): string {
  const passedMs = Math.max(0, nowMs - atMs);
  const { unit, ms } = UNITS.find((one) => passedMs >= one.ms) ?? UNITS[3];
  return AGO_FORMATS[language.value].format(-Math.floor(passedMs / ms), unit);
}

/** How long ago something was, kept up to date, with its exact time as a tooltip. */
export function TimeAgo({ at }: { readonly at: string }) {
  const { live } = useConsole();
  const [nowMs, setNowMs] = useState(live.clock.now());
  const atMs = Date.parse(at);
  useEffect(() => {
    const passedMs = nowMs - atMs;
    const timer = setTimeout(
      () => setNowMs(live.clock.now()),
      passedMs < MINUTE_MS ? SECOND_MS : MINUTE_MS / 2,
    );
    return () => clearTimeout(timer);
  }, [nowMs, atMs]);
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(atMs, nowMs)}
    </time>
  );
}

/** A date and time in the user's language and the browser's time zone. */
export function dateTime(at: string): string {
  return DATE_FORMATS[language.value].format(new Date(at));
}

function agoFormat(locale: string): Intl.RelativeTimeFormat {
  return new Intl.RelativeTimeFormat(locale, { style: 'short' });
}

function dateFormat(locale: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
}
