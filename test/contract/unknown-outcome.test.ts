import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../former/clients/api.js';
import { connect } from '../former/clients/mqtt-clients.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

let home: Home;
let store: Store;

beforeAll(async () => {
  home = await Home.start();
  store = await Store.of(home.gateway);
});

afterAll(async () => {
  store.close();
  await home.remove();
});

/** Requests a change that the store makes, but answers too late. */
async function changeUnanswered(method: string, path: string, body?: string): Promise<void> {
  store.freeze();
  const { status, headers } = await home.api.request(method, path, body);
  expect([status, headers.has('retry-after')]).toEqual([503, true]);
  store.thaw();
}

it('shows a location that was created without an answer once the store answers', async () => {
  await changeUnanswered('POST', '/care-homes', '{"name":"Haus im Nebel"}');
  await expect
    .poll(async () => JSON.stringify(await home.api.json('GET', '/care-homes')))
    .toContain('Haus im Nebel');
});

it('rejects a token that was deleted without an answer', async () => {
  const { id: username, token: password } = await home.api.viewer(home.locationId);
  const client = await connect(home.gateway, { username, password });
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  await changeUnanswered('DELETE', `/access-tokens/${username}`);
  await closed;
  expect((await new Api(home.gateway, password).request('GET', '/care-homes')).status).toBe(401);
});

it('forgets a device that was deleted without an answer', async () => {
  const device = await home.device();
  const path = `/care-homes/${home.locationId}/devices/${device.id}`;
  await changeUnanswered('DELETE', path);
  await expect.poll(async () => (await home.api.request('GET', path)).status).toBe(404);
});

it('answers all changes that wait for a silent store at the same time', async () => {
  store.freeze();
  const rename = () =>
    home.api.request('PATCH', `/care-homes/${home.locationId}`, '{"name":"Haus am Moor"}');
  const answers = await Promise.all(Array.from({ length: 5 }, rename));
  store.thaw();
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  const [first, ...others] = answers.map(({ headers }) => Date.parse(headers.get('date') ?? ''));
  // If they waited one after the other, the last would come twelve seconds after the first.
  for (const other of others) expect(other - (first ?? 0)).toBeLessThanOrEqual(6_000);
});
