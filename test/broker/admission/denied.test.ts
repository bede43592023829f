import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DENIED_REASONS, type DeniedReason } from '../../../src/site/access/connection-list.js';
import { auditOf } from '../../harness/audit.js';
import type { TestDevice, TestToken } from '../../harness/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

const DENIED = 0x80;

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_LOG_LEVEL: 'debug' });
});

afterAll(() => home.remove());

/** The client's denials in the audit trail. */
async function recordsOf(clientId: string) {
  const query = 'actions=permission.refused,authentication.refused&order=asc';
  const events = await auditOf(home.api, query);
  return events.filter(({ details }) => details['clientId'] === clientId);
}

/** The same once there are this many: they are written in the background. */
async function recordedOf(clientId: string, count: number) {
  await expect.poll(() => recordsOf(clientId)).toHaveLength(count);
  return recordsOf(clientId);
}

function byClient(who: TestDevice | TestToken, details: Record<string, string | null>) {
  const type = 'secret' in who ? 'device' : 'access-token';
  return {
    action: 'permission.refused',
    actor: { type, id: who.id, address: '127.0.0.1', requestId: null },
    details,
  };
}

/** A reason as in the log. */
function reasonOf(code: DeniedReason) {
  return { code, reason: DENIED_REASONS[code] };
}

async function returnCodeOf(
  who: TestDevice | TestToken,
  options: Parameters<typeof connectPacket>[0],
) {
  const client = await RawClient.open(home.gateway);
  client.send(connectPacket({ ...credentials(who), ...options }));
  const { returnCode } = await client.next('connack');
  client.vanish();
  return returnCode;
}

describe('the audit trail of MQTT denials', () => {
  it('has each filter of a SUBSCRIBE that is not granted, and no others', async () => {
    const [elsewhere, clientId] = [randomUUID(), 'subscribes-elsewhere'];
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const [foreign, own] = [`care-homes/${elsewhere}/#`, `care-homes/${home.locationId}/#`];
    expect(await nurse.subscribe([foreign, own, 'gateway/bridges/#'])).toEqual([DENIED, 1, DENIED]);
    nurse.vanish();
    const records = await recordedOf(clientId, 2);
    expect(records).toMatchObject([
      {
        ...byClient(home.viewer, { operation: 'subscribe', clientId, topic: foreign }),
        locationId: elsewhere,
      },
      {
        ...byClient(home.viewer, { operation: 'subscribe', clientId, topic: 'gateway/bridges/#' }),
        locationId: null,
      },
    ]);
  });

  it('has a publish by a device outside its own topics, which keeps its connection', async () => {
    const [device, other] = [await home.device(), await home.device()];
    const clientId = 'publishes-elsewhere';
    const sensor = await RawClient.connect(home.gateway, device, { clientId });
    const topic = `devices/${other.id}/alarms`;
    sensor.send(publishPacket(topic, '{"kind":"fall"}'));
    await sensor.ping();
    sensor.vanish();
    const records = await recordedOf(clientId, 1);
    expect(records).toMatchObject([
      {
        ...byClient(device, { operation: 'publish', clientId, topic }),
        locationId: null,
        resourceId: other.id,
      },
    ]);
  });

  it.each([0, 1, 2] as const)('has a command by a viewer, at QoS %i', async (qos) => {
    const device = await home.device();
    const clientId = `commands-at-${qos}`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const topic = home.filter(device, 'commands/light');
    nurse.send({ ...publishPacket(topic, 'on'), qos, ...(qos > 0 && { messageId: 7 }) });
    await nurse.ping();
    nurse.vanish();
    const records = await recordedOf(clientId, 1);
    expect(records).toMatchObject([
      {
        ...byClient(home.viewer, { operation: 'publish', clientId, topic }),
        locationId: home.locationId,
        resourceId: device.id,
      },
    ]);
  });

  it('has a client id reserved for bridges', async () => {
    const device = await home.device();
    const session = { clientId: 'bridge/of-a-device' };
    expect(await returnCodeOf(device, session)).toBe(2);
    expect(await recordedOf(session.clientId, 1)).toMatchObject([
      byClient(device, { operation: 'connect', clientId: session.clientId, topic: null }),
    ]);
  });

  it('has an invalid credential, but never the password, or what may be one', async () => {
    const device = await home.device();
    const password = Buffer.from('no-such-password');
    const clientId = 'guesses';
    expect(await returnCodeOf(device, { clientId, password })).toBe(4);
    expect(await returnCodeOf(device, { clientId, password, username: 'hunter2' })).toBe(4);
    const records = await recordedOf(clientId, 2);
    expect(records).toMatchObject(
      [device.id, null].map((username) => ({
        action: 'authentication.refused',
        actor: { type: 'anonymous', id: null, address: '127.0.0.1' },
        details: { operation: 'connect', clientId, username },
      })),
    );
    expect(JSON.stringify(records)).not.toMatch(/hunter2|no-such-password/);
  });
});

describe('the log of MQTT denials', () => {
  /** The lines about this client with this message, from this line on. */
  function logged(from: number, clientId: string, message: string): unknown[] {
    return home.gateway.lines
      .slice(from)
      .map((line): unknown => JSON.parse(line))
      .filter((entry) => entry !== null && typeof entry === 'object')
      .filter((entry) => Reflect.get(entry, 'clientId') === clientId)
      .filter((entry) => Reflect.get(entry, 'msg') === message);
  }

  it('says who and from where, but never the password, or what may be one', async () => {
    const device = await home.device();
    const clientId = 'guesses-in-the-log';
    const password = Buffer.from('no-such-password');
    const from = home.gateway.lines.length;
    const names = [device.id.toUpperCase(), 'admin', 'hunter2'];
    for (const username of names) await returnCodeOf(device, { clientId, password, username });
    const found = () => logged(from, clientId, 'connect error');
    await expect.poll(() => found().length).toBe(names.length);
    const wrong = { address: '127.0.0.1', ...reasonOf('wrong-password') };
    expect(found()).toMatchObject([
      { ...wrong, username: device.id },
      { ...wrong, username: 'admin' },
      { ...wrong, ...reasonOf('unknown-user-name') },
    ]);
    expect(found()[2]).not.toHaveProperty('username');
    expect(logged(from, clientId, 'connection ended')).toEqual([]);
    expect(home.gateway.lines.slice(from).join()).not.toMatch(/hunter2|no-such-password/);
  });

  it('has one line for everything that a SUBSCRIBE was not granted', async () => {
    const clientId = 'subscribes-in-the-log';
    const from = home.gateway.lines.length;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const own = `care-homes/${home.locationId}/#`;
    const foreign = Array.from({ length: 12 }, (_, index) => `elsewhere/${index}`);
    await nurse.subscribe([own, ...foreign]);
    nurse.vanish();
    const found = () => logged(from, clientId, 'subscription denied');
    await expect.poll(() => found().length).toBe(1);
    expect(found()).toMatchObject([{ count: 12, filters: foreign.slice(0, 10) }]);
  });

  it.each([
    ['a command without the grant for it', 'command-without-grant', 'commands/light'],
    ['a state without the grant for it', 'alarm-state-without-grant', 'alarm-states'],
    ['a publish elsewhere', 'topic-not-of-token', 'alarms/fall'],
  ] as const)(
    'has %s: who, topic and reason, and no fault of the store',
    async (_what, code, rest) => {
      const device = await home.device();
      const topic = home.filter(device, rest);
      for (const qos of [0, 1, 2] as const) {
        const clientId = `publishes-${rest}-at-${qos}`;
        const from = home.gateway.lines.length;
        const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
        nurse.send({ ...publishPacket(topic, 'on'), qos, ...(qos > 0 && { messageId: 7 }) });
        await nurse.ping();
        nurse.vanish();
        const denied = logged(from, clientId, 'permission denied');
        const principal = `token:${home.viewer.id}`;
        expect(denied).toMatchObject([
          { clientId, principal, operation: 'publish', topic, ...reasonOf(code) },
        ]);
        expect(denied[0]).not.toHaveProperty('err');
        const others = home.gateway.lines.slice(from).join('\n');
        expect(others).not.toMatch(/not stored|"stack"|"level":[4-6]0/);
      }
    },
  );
});
