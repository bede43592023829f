import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { auditOf } from '../former/audit.js';
import { Api } from '../former/clients/api.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Store } from '../former/stored/store.js';

/** Creates a token that expires after this many milliseconds; returns its id. */
async function shortLivedToken(api: Api, validMs: number): Promise<string> {
  const body = {
    name: 'short',
    grants: [{ location: '*', role: 'viewer' }],
    expiresAt: new Date(Date.now() + validMs).toISOString(),
  };
  const created = await api.json('POST', '/access-tokens', body);
  return String(Reflect.get(Object(created), 'id'));
}

/** Waits for the record of this token's expiry; returns the ids of all expired tokens, oldest first. */
async function expiredUntil(api: Api, tokenId: string): Promise<(string | null)[]> {
  const expired = async () => {
    const events = await auditOf(api, 'actions=access-token.expired&order=asc');
    return events.map(({ resourceId }) => resourceId);
  };
  await expect.poll(expired).toContain(tokenId);
  return expired();
}

it('records once that the first administrator’s token was generated', async () => {
  const gateway = await GatewayHere.start({ GATEWAY_ADMIN_TOKEN: undefined });
  onTestFinished(() => gateway.remove());
  const token = readFileSync(join(gateway.dataDir, 'admin.token'), 'utf8').trim();
  await gateway.stop();
  await gateway.start();
  const events = await auditOf(new Api(gateway, token));
  expect(events).toMatchObject([
    {
      action: 'access-token.created',
      actor: { type: 'gateway', id: null, address: null, requestId: null },
      resourceId: 'admin',
      details: { name: 'admin' },
    },
  ]);
});

it('keeps the record of an answered change, even after a kill', async () => {
  const gateway = await GatewayProcess.start();
  onTestFinished(() => gateway.remove());
  const api = new Api(gateway);
  const ids: string[] = [];
  for (let index = 0; index < 20; index++) ids.push((await api.createLocation(`${index}`)).id);
  await gateway.kill();
  await gateway.start();
  const events = await auditOf(new Api(gateway), 'actions=location.created&order=asc');
  expect(events.map(({ resourceId }) => resourceId)).toEqual(ids);
});

it('appends each record to a file if `audit.export` is set', async () => {
  const gateway = await GatewayHere.start({ GATEWAY_AUDIT_EXPORT: 'true' });
  onTestFinished(() => gateway.remove());
  const api = new Api(gateway);
  const { id } = await api.createLocation('Haus am See');
  const [created] = await auditOf(api, `resource=${id}`);
  const path = join(gateway.dataDir, 'audit', `${created?.at.slice(0, 'YYYY-MM-DD'.length)}.jsonl`);
  const exported = () => (existsSync(path) ? readFileSync(path, 'utf8') : '');
  await expect.poll(exported).toContain(id);
  const lines = exported().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(created);
});

it('records the expiry of a token once, with its time, even if the gateway was down', async () => {
  const gateway = await GatewayHere.start();
  onTestFinished(() => gateway.remove());
  const first = await shortLivedToken(new Api(gateway), 1_000);
  await gateway.stop();
  await gateway.start();
  expect(await expiredUntil(new Api(gateway), first)).toEqual([first]);
  await gateway.stop();
  await gateway.start();
  const api = new Api(gateway);
  const second = await shortLivedToken(api, 2_000);
  expect(await expiredUntil(api, second)).toEqual([first, second]);
  const [created] = await auditOf(api, `resource=${first}&actions=access-token.created`);
  const [expired] = await auditOf(api, `resource=${first}&actions=access-token.expired`);
  expect(expired?.at).toBe(created?.details['expiresAt']);
  expect(expired?.actor.type).toBe('gateway');
});

it('records the expiry of a token once when the store did not answer', async () => {
  const gateway = await GatewayHere.start();
  onTestFinished(() => gateway.remove());
  const api = new Api(gateway);
  const first = await shortLivedToken(api, 2_000);
  const store = await Store.of(gateway);
  store.freeze();
  try {
    const said = () => gateway.lines.join('\n');
    await expect.poll(said).toContain('failed to record an expired token');
  } finally {
    store.thaw();
    store.close();
  }
  expect(await expiredUntil(api, first)).toEqual([first]);
  await expect.poll(async () => (await fetch(`${gateway.httpUrl}/readyz`)).status).toBe(200);
  const second = await shortLivedToken(api, 2_000);
  expect(await expiredUntil(api, second)).toEqual([first, second]);
});
