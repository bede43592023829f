import { afterEach, expect, it, vi } from 'vitest';
import { GatewayClock } from '../../src/console/live/gateway-clock.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** More than the time between two calls, even on a machine that stalls. */
const MOMENT_MS = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
});

it('follows the gateway, even when the clock of the tablet is corrected meanwhile', () => {
  const clock = new GatewayClock();
  const gatewayMs = Date.now() + 3 * DAY_MS;
  clock.set(new Date(gatewayMs).toISOString());
  expect(Math.abs(clock.now() - gatewayMs)).toBeLessThan(MOMENT_MS);
  expect(Number.isInteger(clock.now())).toBe(true);
  // Until the next heartbeat the board must not treat every alarm as days old.
  vi.spyOn(Date, 'now').mockReturnValue(gatewayMs);
  expect(Math.abs(clock.now() - gatewayMs)).toBeLessThan(MOMENT_MS);
});
