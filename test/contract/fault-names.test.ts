import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice, TestToken } from '../former/clients/api.js';
import { EventReader } from '../former/clients/event-reader.js';
import { Subscriber } from '../former/clients/mqtt-clients.js';
import { connectPacket, credentials, RawClient } from '../former/clients/raw-client.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';

const TOO_MANY = 'Too many connections: further ones are refused.';

const readinessSchema = z.object({
  ready: z.literal(true),
  version: z.string(),
  faults: z.array(
    z.strictObject({
      code: z.string(),
      stops: z.boolean(),
      since: z.iso.datetime(),
      message: z.string().optional(),
      subject: z.object({ type: z.string(), id: z.string(), name: z.string() }).optional(),
    }),
  ),
});

let home: Home;
let device: TestDevice;
let neighbour: TestDevice;

/** Has a device open more connections than it may. */
async function exceed(of: TestDevice): Promise<void> {
  const clients = await Promise.all([0, 1, 2].map(() => RawClient.open(home.gateway)));
  for (const client of clients) client.send(connectPacket(credentials(of)));
  await Promise.all(clients.map((client) => client.next('connack')));
  for (const client of clients) client.vanish();
}

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LIMITS_DEVICE_CONNECTIONS: '2' });
  device = await home.device('Mrs Miller, room 12');
  neighbour = await home.device('Mr Smith, room 13');
  await exceed(device);
  await exceed(neighbour);
});

afterAll(() => home.remove());

async function readyz(token?: string) {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const response = await fetch(`${home.gateway.httpUrl}/readyz`, headers && { headers });
  expect(response.status).toBe(200);
  const text = await response.text();
  return { text, faults: readinessSchema.parse(JSON.parse(text)).faults };
}

/** What readers who may not see the device must not see. */
function secrets(): string[] {
  return [device, neighbour].flatMap(({ id, name }) => [id, name]);
}

/** A viewer of another home. */
async function outsider(): Promise<TestToken> {
  const { id } = await home.api.createLocation('Haus am Wald');
  return home.api.viewer(id);
}

it('shows faults without a credential, but never their subject', async () => {
  const { text, faults } = await readyz();
  expect(faults).toEqual([
    { code: 'limit-exceeded', stops: false, since: expect.stringMatching(/Z$/) },
  ]);
  for (const secret of [...secrets(), 'connections']) expect(text).not.toContain(secret);
});

it('treats an invalid or expired token as none, so that a probe keeps working', async () => {
  const expiresAt = new Date(Date.now() + 300).toISOString();
  const grants = [{ location: '*', role: 'admin' }];
  const body = JSON.stringify({ name: 'probe', grants, expiresAt });
  const created = await home.api.request('POST', '/access-tokens', body);
  const { token } = z.object({ token: z.string() }).parse(await created.json());
  const bare = (await readyz()).text;
  await expect.poll(async () => (await readyz(token)).text).toBe(bare);
  expect((await readyz('wrong')).text).toBe(bare);
});

it('shows faults to a token, with the subject if it may see that', async () => {
  const messages = [{ code: 'limit-exceeded', message: TOO_MANY }];
  const elsewhere = await readyz((await outsider()).token);
  expect(elsewhere.faults).toMatchObject(messages);
  for (const secret of secrets()) expect(elsewhere.text).not.toContain(secret);

  const subjects = [device, neighbour].map(({ id, name }) => ({ type: 'device', id, name }));
  const named = subjects.map((subject) => ({ message: TOO_MANY, subject }));
  expect((await readyz(home.viewer.token)).faults).toMatchObject(named);
  expect((await readyz(ADMIN_TOKEN)).faults).toMatchObject(named);

  const group = await home.group('West');
  const targetRoomId = await home.room('12', group);
  await home.api.json('POST', `${home.path}/devices/${device.id}/move`, { targetRoomId });
  const ward = await home.api.createToken([{ location: home.locationId, group, role: 'viewer' }]);
  const shown = await readyz(ward.token);
  expect(shown.faults).toMatchObject([named[0], { message: TOO_MANY }]);
  expect(shown.text).not.toContain(neighbour.id);
});

it('shows no subject in gateway/status and its events, and identical faults once', async () => {
  const viewer = await outsider();
  const subscriber = await Subscriber.connect(home.gateway, viewer);
  await subscriber.subscribe('gateway/status');
  await subscriber.untilCount(1);
  const stream = await EventReader.open(home.gateway, viewer, { filters: ['gateway/status'] });
  await stream.until(() => stream.messages().length > 0);
  const seen = [subscriber.received[0]?.text ?? '', JSON.stringify(stream.messages()[0])];
  for (const text of seen) {
    expect(text).toContain(TOO_MANY);
    expect(text.split(TOO_MANY)).toHaveLength(2);
    expect(text).not.toContain('subject');
    for (const secret of secrets()) expect(text).not.toContain(secret);
  }
  stream.close();
  await subscriber.end();
});
