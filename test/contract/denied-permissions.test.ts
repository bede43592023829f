import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { allAuditOf, denialCount } from '../former/audit.js';
import { Api, type TestToken } from '../former/clients/api.js';
import { RawClient } from '../former/clients/raw-client.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Store } from '../former/stored/store.js';

let gateway: GatewayHere;
let viewer: TestToken;

beforeAll(async () => {
  gateway = await GatewayHere.start();
});

afterAll(() => gateway.remove());

beforeEach(async () => {
  const api = new Api(gateway);
  viewer = await api.viewer((await api.createLocation()).id);
});

/** The id of a request that was denied. */
async function denied(): Promise<string | null> {
  const response = await new Api(gateway, viewer.token).request('GET', '/access-tokens');
  expect(response.status).toBe(403);
  return response.headers.get('x-request-id');
}

function recorded(of = new Api(gateway), { id } = viewer) {
  return allAuditOf(of, `actions=permission.refused&actor=${id}&order=asc`);
}

async function topics() {
  return (await recorded()).map(({ details }) => details['topic']);
}

/** Sends a change, which is answered once the gateway gives up on the store. */
function changeThatWaits(): { readonly isAnswered: boolean } {
  const change = { isAnswered: false };
  void new Api(gateway).request('POST', '/care-homes', '{"name":"Haus am Moor"}').then(() => {
    change.isAnswered = true;
  });
  return change;
}

it('hundreds of denials over HTTP and MQTT are all counted: the first ten separately, the rest together', async () => {
  const requestIds: (string | null)[] = [];
  for (let count = 0; count < 10; count++) requestIds.push(await denied());
  await Promise.all(Array.from({ length: 90 }, denied));
  const nurse = await RawClient.connect(gateway, viewer);
  const filters = Array.from({ length: 350 }, (_, index) => `elsewhere/${index}`);
  expect(await nurse.subscribe(filters)).toEqual(Array(350).fill(0x80));
  // When the gateway stops, it records the denials that it has counted and not yet recorded.
  await gateway.stop();
  await gateway.start();
  const events = await recorded();
  expect(events.slice(0, 10).map(({ actor }) => actor.requestId)).toEqual(requestIds);
  expect(denialCount(events)).toBe(450);
  expect(events.length).toBeLessThan(100);
  expect(events.at(-1)?.details).toMatchObject({ topic: 'elsewhere/349' });
});

it('each denied filter is recorded soon after its SUBACK, and survives a kill of gateway and store', async () => {
  const killed = await GatewayProcess.start();
  onTestFinished(() => killed.remove());
  const api = new Api(killed);
  const token = await api.viewer((await api.createLocation()).id);
  const nurse = await RawClient.connect(killed, token);
  const filters = Array.from({ length: 10 }, (_, index) => `elsewhere/${index}`);
  expect(await nurse.subscribe(filters)).toEqual(Array(10).fill(0x80));
  const deniedTopics = async () =>
    (await recorded(new Api(killed), token)).map(({ details }) => details['topic']);
  await expect.poll(deniedTopics).toEqual(filters);
  const store = await Store.of(killed);
  await killed.kill();
  store.kill();
  store.close();
  await killed.start();
  expect(await deniedTopics()).toEqual(filters);
});

it('a denied filter is answered immediately while the store is frozen, and recorded once it is back', async () => {
  const nurse = await RawClient.connect(gateway, viewer);
  const store = await Store.of(gateway);
  store.freeze();
  const change = changeThatWaits();
  expect(await nurse.subscribe(['elsewhere/1', 'elsewhere/2'])).toEqual([0x80, 0x80]);
  expect(change.isAnswered).toBe(false);
  store.thaw();
  await expect.poll(topics).toEqual(['elsewhere/1', 'elsewhere/2']);
  store.close();
});

it('a denied request gets its 403 immediately while the store is frozen, and is recorded once it is back', async () => {
  const store = await Store.of(gateway);
  store.freeze();
  const change = changeThatWaits();
  const requestIds: (string | null)[] = [];
  try {
    for (let count = 0; count < 5; count++) requestIds.push(await denied());
    expect(change.isAnswered).toBe(false);
  } finally {
    store.thaw();
    store.close();
  }
  const recordedIds = async () => (await recorded()).map(({ actor }) => actor.requestId);
  await expect.poll(recordedIds).toEqual(requestIds);
});
