import { expect, it } from 'vitest';
import { faultWords } from '../src/domain/faults/faults.js';
import { runtimeFault } from '../src/runtime-support.js';

it.each([
  ['v20.19.0', '2026-04-30T23:59:59Z', undefined],
  [
    'v20.19.0',
    '2026-05-01T00:00:00Z',
    'Node.js v20.19.0 has had no security fixes since 2026-04-30.',
  ],
  ['v22.12.0', '2026-11-27T00:00:00Z', undefined],
  [
    'v24.1.0',
    '2028-05-01T00:00:00Z',
    'Node.js v24.1.0 has had no security fixes since 2028-04-30.',
  ],
  // A later version, which the gateway does not know.
  ['v26.0.0', '2040-01-01T00:00:00Z', undefined],
  ['unknown', '2040-01-01T00:00:00Z', undefined],
])('a gateway on Node.js %s at %s reports: %s', (version, at, message) => {
  const fault = runtimeFault(version, Date.parse(at));
  expect(fault && faultWords(fault, 'en').message).toBe(message);
});
