import { expect, it } from 'vitest';
import { looksGenerated, newSecret } from '../../src/domain/credentials.js';

it('creates different secrets, none of them starting with a minus sign', () => {
  const secrets = Array.from({ length: 20_000 }, newSecret);
  expect(secrets.filter((secret) => !looksGenerated(secret) || secret.startsWith('-'))).toEqual([]);
  expect(new Set(secrets).size).toBe(secrets.length);
});
