import { afterEach, beforeEach, expect, it } from 'vitest';
import { Api, type TestToken } from '../harness/api.js';
import { allAuditOf } from '../harness/audit.js';
import { GatewayProcess } from '../harness/gateway-process.js';
import { RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';

let gateway: GatewayProcess;
let viewer: TestToken;

beforeEach(async () => {
  gateway = await GatewayProcess.start();
  const api = new Api(gateway);
  viewer = await api.viewer((await api.createLocation()).id);
});

afterEach(() => gateway.remove());

/** The request's id once it was told to be forbidden; undefined for every other answer, and for none. */
async function refused(): Promise<string | undefined> {
  try {
    const response = await new Api(gateway, viewer.token).request('GET', '/access-tokens');
    return response.status === 403 ? (response.headers.get('x-request-id') ?? '') : undefined;
  } catch {
    return undefined;
  }
}

async function recorded() {
  return allAuditOf(new Api(gateway), `actions=permission.refused&actor=${viewer.id}&order=asc`);
}

async function notRecorded(told: Iterable<string | undefined>): Promise<unknown[]> {
  const written = new Set<unknown>(await recordedRequests());
  return [...told].filter((requestId) => !written.has(requestId));
}

async function recordedRequests(): Promise<string[]> {
  return (await recorded()).map(({ actor }) => actor.requestId ?? '').toSorted();
}

/** The gateway and its store end at this moment. */
async function killBoth(): Promise<void> {
  const store = await Store.of(gateway);
  await gateway.kill();
  store.kill();
  store.close();
}

it('each of hundreds of refusals in a minute is a record with its request id', async () => {
  const told: (string | undefined)[] = [];
  for (let count = 0; count < 100; count++) told.push(await refused());
  told.push(...(await Promise.all(Array.from({ length: 300 }, refused))));
  expect(new Set(told).size).toBe(400);
  expect(await recordedRequests()).toEqual(told.toSorted());
});

it('no refusal over HTTP was told that is not there, whenever gateway and store are killed', async () => {
  const told = new Set<string>();
  let kill: Promise<void> | undefined;
  const asked = Array.from({ length: 300 }, async () => {
    const requestId = await refused();
    if (requestId === undefined) return;
    told.add(requestId);
    if (told.size === 100) kill = killBoth();
  });
  await Promise.all(asked);
  await kill;
  await gateway.start();
  expect(told.size).toBeGreaterThanOrEqual(100);
  expect(await notRecorded(told)).toEqual([]);
});

it('each denied filter is a record soon after its SUBACK, though gateway and store are killed then', async () => {
  const nurse = await RawClient.connect(gateway, viewer);
  const filters = Array.from({ length: 350 }, (_, index) => `elsewhere/${index}`);
  const topics = async () => (await recorded()).map(({ details }) => details['topic']);
  expect(await nurse.subscribe(filters)).toEqual(Array(350).fill(0x80));
  await expect.poll(topics).toEqual(filters);
  await killBoth();
  await gateway.start();
  expect(await topics()).toEqual(filters);
});

it('a denied filter is answered at once while the store is frozen, and a record once it is back', async () => {
  const nurse = await RawClient.connect(gateway, viewer);
  const store = await Store.of(gateway);
  store.freeze();
  const askedAt = performance.now();
  expect(await nurse.subscribe(['elsewhere/1', 'elsewhere/2'])).toEqual([0x80, 0x80]);
  expect(performance.now() - askedAt).toBeLessThan(1_000);
  store.thaw();
  const topics = async () => (await recorded()).map(({ details }) => details['topic']);
  await expect.poll(topics).toEqual(['elsewhere/1', 'elsewhere/2']);
  store.close();
});

it('while the store is frozen a refusal is 503, and no more are told than are written', async () => {
  const told: (string | undefined)[] = [await refused()];
  const store = await Store.of(gateway);
  store.freeze();
  try {
    const api = new Api(gateway, viewer.token);
    const response = await api.request('GET', '/access-tokens');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.json()).toMatchObject({ code: 'store-unavailable' });
    expect((await api.request('GET', '/care-homes')).status).toBe(200);
  } finally {
    store.thaw();
    store.close();
  }
  await expect.poll(refused).toBeDefined();
  told.push(await refused());
  expect(await notRecorded(told)).toEqual([]);
}, 30_000);
