import { expect, it } from 'vitest';
import { ago } from '../../src/console/ui/time-ago.js';

const NOW_MS = Date.parse('2026-11-25T10:00:00Z');

/** Counted in whole days, Monday at eleven is one day ago on Wednesday at ten, and not yesterday. */
it('counts days, and never names one', () => {
  const mondayMs = Date.parse('2026-11-23T11:00:00Z');
  expect(ago(mondayMs, NOW_MS, 'en')).toBe('1 day ago');
  expect(ago(mondayMs, NOW_MS, 'de')).toBe('vor 1 Tag');
  expect(ago(NOW_MS, NOW_MS, 'en')).toBe('0 sec. ago');
});
