import { expect, it } from 'vitest';
import { runtimeWarning } from '../src/runtime-support.js';

it.each([
  ['v20.19.0', '2026-04-30T23:59:59Z', false],
  ['v20.19.0', '2026-05-01T00:00:00Z', true],
  ['v22.12.0', '2026-11-27T00:00:00Z', false],
  ['v24.1.0', '2028-05-01T00:00:00Z', true],
  // A later one is not known here.
  ['v26.0.0', '2040-01-01T00:00:00Z', false],
  ['unknown', '2040-01-01T00:00:00Z', false],
])('a gateway on Node.js %s at %s warns: %s', (version, at, warns) => {
  const warning = runtimeWarning(version, Date.parse(at));
  expect(warning !== undefined).toBe(warns);
  if (warns) expect(warning).toContain(version);
});
