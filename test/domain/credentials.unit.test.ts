import { expect, it } from 'vitest';
import { looksGenerated, newSecret } from '../../src/domain/credentials.js';

it('makes secrets that differ, and never one with a minus at its start', () => {
  const secrets = Array.from({ length: 20_000 }, newSecret);
  expect(secrets.filter((secret) => !looksGenerated(secret) || secret.startsWith('-'))).toEqual([]);
  expect(new Set(secrets).size).toBe(secrets.length);
});
