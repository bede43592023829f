import { randomUUID } from 'node:crypto';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DENIED_REASONS } from '../../../src/site/access/connection-list.js';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';

const deniedSchema = z.looseObject({
  at: z.string(),
  clientId: z.string().nullable(),
  code: z.string(),
  detail: z.string(),
});

let home: Home;

beforeAll(async () => {
  home = await Home.start({ GATEWAY_MQTT_MAX_FILTERS_PER_SESSION: '3' });
});

afterAll(() => home.remove());

/** What the client was denied, the newest first. */
async function deniedTo(clientId: string | null) {
  const all = z.array(deniedSchema).parse(await home.api.json('GET', '/connections/denied'));
  return all.filter((one) => one.clientId === clientId);
}

/** Expects that a connect fails; resolves to the return code, or null without a CONNACK. */
async function failsWith(bytes: Buffer): Promise<number | null> {
  const client = await RawClient.open(home.gateway);
  client.stream.write(bytes);
  await client.closed();
  const [connack] = client.packets;
  return connack?.cmd === 'connack' ? (connack.returnCode ?? null) : null;
}

function connecting(who: TestDevice | TestToken, options: Partial<IConnectPacket>): Buffer {
  return generate(connectPacket({ ...credentials(who), ...options }));
}

describe('GET /connections/denied', () => {
  it('explains why a filter of a token, a device or a full session got 0x80', async () => {
    const device = await home.device();
    const clientId = 'asks-in-vain';
    const own = `care-homes/${home.locationId}/#`;
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const foreign = `care-homes/${randomUUID()}/#`;
    expect(await nurse.subscribe([foreign, own])).toEqual([0x80, 1]);
    const denial = {
      address: '127.0.0.1',
      clientId,
      username: home.viewer.id,
      operation: 'subscribe',
      returnCode: 0x80,
    };
    const outside = { ...denial, topic: foreign, code: 'filter-outside-grants' };
    expect(await deniedTo(clientId)).toMatchObject([
      { ...outside, detail: DENIED_REASONS['filter-outside-grants'] },
    ]);
    const many = ['a', 'b', 'c'].map((last) => `care-homes/${home.locationId}/${last}`);
    expect(await nurse.subscribe(many)).toEqual([1, 1, 0x80]);
    expect(await deniedTo(clientId)).toMatchObject([
      { ...denial, topic: many[2], code: 'too-many-filters' },
      outside,
    ]);
    const sensor = await RawClient.connect(home.gateway, device, { clientId: 'sensor-in-vain' });
    expect(await sensor.subscribe(['#'])).toEqual([0x80]);
    expect(await deniedTo('sensor-in-vain')).toMatchObject([
      { username: device.id, topic: '#', code: 'filter-not-of-device' },
    ]);
    for (const client of [nurse, sensor]) client.vanish();
  });

  it('explains why a publish was dropped', async () => {
    const device = await home.device();
    const cases: [string, TestDevice | TestToken, string, string][] = [
      ['sends-elsewhere', device, `devices/${randomUUID()}/x`, 'topic-not-of-device'],
      ['sends-no-command', home.manager, 'x/y', 'topic-not-of-token'],
      ['sends-as-device', home.manager, `devices/${device.id}/x`, 'device-without-grant'],
      [
        ...(['commands-as-viewer', home.viewer] as const),
        ...([home.filter(device, 'commands/light'), 'command-without-grant'] as const),
      ],
    ];
    for (const [clientId, who, topic, code] of cases) {
      const client = await RawClient.connect(home.gateway, who, { clientId });
      client.send(publishPacket(topic, 'x'));
      await client.ping();
      client.vanish();
      const what = { operation: 'publish', topic, returnCode: null, username: who.id };
      expect(await deniedTo(clientId)).toMatchObject([{ ...what, code }]);
    }
  });

  it('has each topic of denied publishes, and a repetition once a second', async () => {
    const sensor = await RawClient.connect(home.gateway, await home.device(), { clientId: 'each' });
    const topics = ['a/b', 'homeassistant/x', `devices/${randomUUID()}/alarms`];
    sensor.send(...topics.map((topic) => publishPacket(topic, 'x')));
    await sensor.ping();
    expect((await deniedTo('each')).map(({ topic }) => topic)).toEqual(topics.toReversed());
    const flood = await RawClient.connect(home.gateway, home.manager, { clientId: 'flood' });
    const begunMs = performance.now();
    for (let count = 0; count < 500; count++) flood.send(publishPacket('x/y', 'x'));
    await flood.ping();
    const seconds = 1 + Math.floor((performance.now() - begunMs) / 1000);
    expect((await deniedTo('flood')).length).toBeLessThanOrEqual(seconds);
    for (const client of [sensor, flood]) client.vanish();
  });

  it('explains why the gateway ended a connection', async () => {
    const device = await home.device();
    const malformed = await RawClient.connect(home.gateway, device, { clientId: 'malformed' });
    malformed.stream.write(Buffer.from([0x40, 2, 0, 0]));
    await malformed.closed();
    const quiet = { clientId: 'silent', keepalive: 1 };
    const silent = await RawClient.connect(home.gateway, device, quiet);
    const replaced = await RawClient.connect(home.gateway, device, { clientId: 'replaced' });
    const next = await RawClient.connect(home.gateway, device, { clientId: 'replaced' });
    await Promise.all([silent.closed(), replaced.closed()]);
    await home.api.json('POST', `${home.path}/devices/${device.id}/secret`);
    await next.closed();
    const what = { operation: 'connection', topic: null, returnCode: null, username: device.id };
    expect(await deniedTo('malformed')).toMatchObject([
      {
        ...what,
        code: 'malformed-packet',
        detail: `${DENIED_REASONS['malformed-packet']} (no packet identifier)`,
      },
    ]);
    expect(await deniedTo('silent')).toMatchObject([{ ...what, code: 'keep-alive-timeout' }]);
    expect(await deniedTo('replaced')).toMatchObject([
      { ...what, code: 'credential-ended' },
      { ...what, code: 'taken-over' },
    ]);
  });

  it('explains why a CONNECT failed, with the return code that the client got', async () => {
    const device = await home.device();
    const password = Buffer.from('wrong');
    const missing = connecting(device, { clientId: '' });
    // No library sends this: the clean-session flag is cleared.
    const flagsAt = missing.indexOf('MQTT') + 5;
    missing.writeUInt8(missing.readUInt8(flagsAt) & ~0x02, flagsAt);
    const long = 'x'.repeat(300);
    const cases: [string, string, Buffer, number | null, string | null][] = [
      [
        'wrong',
        'wrong-password',
        connecting(device, { clientId: 'wrong', password }),
        4,
        device.id,
      ],
      [
        ...(['unknown', 'unknown-user-name'] as const),
        ...([connecting(device, { clientId: 'unknown', username: 'hunter2' }), 4, null] as const),
      ],
      [
        ...(['stranger', 'unknown-user-name'] as const),
        connecting(device, { clientId: 'stranger', username: randomUUID() }),
        ...([4, null] as const),
      ],
      ['nobody', 'no-credentials', generate(connectPacket({ clientId: 'nobody' })), 5, null],
      ['', 'client-id-missing', missing, 2, device.id],
      [
        ...([long.slice(0, 256), 'client-id-too-long'] as const),
        ...([connecting(device, { clientId: long }), 2, device.id] as const),
      ],
      [
        ...(['bridge/x', 'client-id-reserved'] as const),
        ...([connecting(device, { clientId: 'bridge/x' }), 2, device.id] as const),
      ],
      [
        ...(['modern', 'wrong-password'] as const),
        ...([
          connecting(device, {
            clientId: 'modern',
            protocolVersion: 5,
            password: Buffer.from('x'),
          }),
          0x86,
          device.id,
        ] as const),
      ],
      [
        ...(['broken', 'malformed-connect'] as const),
        ...([
          connecting(device, {
            clientId: 'broken',
            will: { topic: '#', payload: Buffer.from('x'), qos: 0, retain: false },
          }),
          null,
          device.id,
        ] as const),
      ],
    ];
    for (const [clientId, code, bytes, returnCode, username] of cases) {
      expect([code, await failsWith(bytes)]).toEqual([code, returnCode]);
      const [operation, topic] = ['connect', null];
      const [denied, ...more] = await deniedTo(clientId);
      expect([code, more]).toEqual([code, []]);
      const address = '127.0.0.1';
      expect(denied).toMatchObject({ address, code, returnCode, username, operation, topic });
    }
    expect((await deniedTo('broken'))[0]?.detail).toContain('unusable topic of the will');
    const text = JSON.stringify(await home.api.json('GET', '/connections/denied'));
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(device.secret);
  });

  it('has each of the failed logins that hang up at once', async () => {
    const device = await home.device();
    const clientIds = Array.from({ length: 12 }, (_, index) => `gone-${index}`);
    for (const clientId of clientIds) {
      const client = await RawClient.open(home.gateway);
      client.stream.end(connecting(device, { clientId, password: Buffer.from('wrong') }));
    }
    await eventually(async () => {
      const all = z.array(deniedSchema).parse(await home.api.json('GET', '/connections/denied'));
      const gone = all.flatMap(({ clientId }) =>
        clientIds.includes(`${clientId}`) ? clientId : [],
      );
      expect(gone.toSorted()).toEqual(clientIds.toSorted());
    });
  });

  it('has a denied publish although the clock was set back', async () => {
    let behindMs = 0;
    const gateway = await GatewayHere.start({}, { now: () => Date.now() - behindMs });
    try {
      const past = await Home.at(gateway);
      const sensor = await RawClient.connect(gateway, await past.device(), { clientId: 'again' });
      const denied = async () => {
        const all = await past.api.json('GET', '/connections/denied');
        return z
          .array(deniedSchema)
          .parse(all)
          .filter(({ clientId }) => clientId === 'again').length;
      };
      const deny = async () => {
        sensor.send(publishPacket('x/y', 'x'));
        await sensor.ping();
      };
      await deny();
      expect(await denied()).toBe(1);
      behindMs = 3_600_000;
      // A repetition is listed once a second, and the list is by the clock that does not jump.
      await eventually(async () => {
        await deny();
        expect(await denied()).toBeGreaterThan(1);
      }, 10_000);
      sensor.vanish();
    } finally {
      await gateway.remove();
    }
  });

  it('includes connections that sent no CONNECT', async () => {
    const isNew = new Set((await deniedTo(null)).map(({ at }) => at));
    expect(await failsWith(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBeNull();
    const [newest] = (await deniedTo(null)).filter(({ at }) => !isNew.has(at));
    expect(newest).toMatchObject({ code: 'malformed-connect', username: null, returnCode: null });
  });

  it('lists the newest 1,000, newest first', async () => {
    const clientId = 'asks-a-lot';
    const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
    const filters = Array.from({ length: 1_000 }, (_, index) => `elsewhere/${index}`);
    await nurse.subscribe(filters);
    const all = async () =>
      z.array(deniedSchema).parse(await home.api.json('GET', '/connections/denied'));
    expect((await all()).map((one) => one['topic'])).toEqual(filters.toReversed());
    await nurse.subscribe(['elsewhere/last']);
    const newest = (await all()).map((one) => one['topic']);
    expect(newest).toEqual(['elsewhere/last', ...filters.toReversed().slice(0, -1)]);
    nurse.vanish();
  });
});
