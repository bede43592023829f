import { expect, it } from 'vitest';
import { InFlight } from '../../src/delivery/in-flight.js';

const MAX_MESSAGE_ID = 65_535;

it('packet identifiers do not begin at the same number each time', () => {
  const first = Array.from({ length: 20 }, () => new InFlight<string>().add('a'));
  expect(new Set(first).size).toBeGreaterThan(10);
});

it('packet identifiers are those of MQTT, and each is in use once', () => {
  const inFlight = new InFlight<number>();
  const given = Array.from({ length: MAX_MESSAGE_ID }, (_, n) => inFlight.add(n));
  expect(new Set(given).size).toBe(MAX_MESSAGE_ID);
  expect(Math.min(...given.slice(0, 60_000), ...given.slice(60_000))).toBe(1);
  expect(inFlight.take(given[7] ?? 0)).toBe(7);
  expect(inFlight.add(-1)).toBe(given[7]);
});
