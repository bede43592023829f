import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { createLog } from '../../src/logging/log.js';
import { AccessTokens } from '../../src/site/access/access-tokens.js';
import { Principals } from '../../src/site/access/principals.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Health } from '../../src/site/health/health.js';
import { SiteFaults } from '../../src/site/health/site-faults.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { SiteChanges } from '../../src/site/site-changes.js';
import { SiteEvents } from '../../src/site/site-events.js';
import { SiteModel } from '../../src/site/site-model.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { keysOf } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site/site-store-redis.js';
import { Store } from '../../src/store/store.js';
import { useRedis } from '../former/servers/shared-redis.js';

const NO_USE = { note: () => undefined, lastUsedAtMs: () => null };
const place = useRedis();
const log = createLog({ level: 'silent', destination: { write: () => undefined } });

it('works again when a clock that was ahead is set back, even if the expiry is recorded', async () => {
  const redis = new Redis({ path: place.socketPath });
  onTestFinished(() => redis.disconnect());
  const keys = keysOf(newId());
  const records = new AuditRecords(Date.now);
  const store = new SiteStoreRedis(new Store(redis), keys, records);
  let nowMs = 1_000;
  const open = async () => {
    const model = new SiteModel();
    const now = () => nowMs;
    const changes = new SiteChanges({
      store,
      model,
      events: new SiteEvents(() => undefined),
      faults: new SiteFaults(new Health(), log),
      headroom: new StoreHeadroom(),
      log,
      now,
    });
    await changes.start();
    return new AccessTokens(changes, model, 'admin-token', NO_USE, now);
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
