import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { AccessTokens } from '../../src/site/access-tokens.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Principals } from '../../src/site/principals.js';
import { SiteEvents } from '../../src/site/site-events.js';
import { SiteModel } from '../../src/site/site-model.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { Keys } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site-store-redis.js';
import { useRedis } from '../http/harness.js';

const place = useRedis();

it('works again when a clock that was ahead is set back, though the expiry is recorded', async () => {
  const redis = new Redis({ path: place.socketPath });
  onTestFinished(() => redis.disconnect());
  const keys = new Keys(newId());
  const records = new AuditRecords(keys);
  const store = new SiteStoreRedis(redis, keys, records);
  let nowMs = 1_000;
  const open = async () => {
    const model = new SiteModel();
    model.load(await store.load());
    return new AccessTokens(store, model, new SiteEvents(), 'admin-token', () => nowMs);
  };
  const tokens = await open();
  const request = { name: 'short', grants: [], expiresAtMs: 2_000 };
  const { record, token } = await tokens.create(GATEWAY_ACTOR, request);
  const isValid = (of: AccessTokens) => [
    of.authenticateBearer(token)?.id,
    of.authenticatePair(record.id, Buffer.from(token))?.id,
    of.principal(record.id)?.id,
  ];
  expect(isValid(tokens)).toEqual([record.id, record.id, record.id]);
  nowMs = 2_000;
  for (const ended of tokens.expired()) await tokens.noteExpiry(ended);
  expect(isValid(tokens)).toEqual([undefined, undefined, undefined]);
  const sessionOwners = new Principals(new SiteModel(), tokens);
  expect(sessionOwners.byKey(`token:${record.id}`)?.id).toBe(record.id);
  nowMs = 1_000;
  const valid = [record.id, record.id, record.id];
  expect(isValid(tokens)).toEqual(valid);
  expect(isValid(await open())).toEqual(valid);
});
