/**
 * Every limit on what one client may use: how it is reached, what the offender sees, and what the operator does. The
 * runner in `limits.test` gives each a home with one offender, checks that it is named and counted, and that a second
 * device of the home is served as before.
 */
import { randomUUID } from 'node:crypto';
import type { Packet } from 'mqtt-packet';
import {
  Client,
  type ConnectOptions,
  type Credentials,
  expect,
  type Home,
  publishPacket,
  type TestDevice,
} from '../harness/index.js';

export interface Offence {
  readonly home: Home;
  readonly device: TestDevice;
}

export interface LimitRow {
  readonly name: string;
  /** Configuration below `limits`. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Reaches the limit, and checks what the offender sees. Resolves to what brings it back within. */
  readonly offend: (offence: Offence) => Promise<(() => Promise<unknown>) | undefined>;
  /** What the fault says, behind which the offender is named. */
  readonly fault: string;
  /** Whom it names. */
  readonly subject?: 'device' | 'token' | 'nobody';
  /** The label of `gateway_quota_exceeded_total`; undefined for a rate. */
  readonly quota?: string;
  /** The code of the denial in `GET /connections/denied`. */
  readonly denied?: string;
  /** The limit that `GET /connections` shows for the slowed connection. */
  readonly slowed?: string;
}

const UNAVAILABLE = 3;
const DENIED = 0x80;

/** The code of the CONNACK, and the client. */
async function attempt({ gateway }: Home, who: Credentials, options: ConnectOptions = {}) {
  const client = await Client.open(gateway, options);
  return { client, code: await client.login(who) };
}

async function comeAndGo(home: Home, who: Credentials, clientId: string, ...filters: string[]) {
  const client = await home.client(who, { clientId, clean: false });
  if (filters.length > 0) await client.subscribe(filters);
  await client.end();
  return client.sessionPresent;
}

function commandsOf({ id }: TestDevice, from: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `devices/${id}/commands/${from + at}`);
}

/** Values at QoS 1 under identifiers from 1 on. */
export function values(topic: string, count: number, payload = '1'): Packet[] {
  const message = { ...publishPacket(topic, payload), qos: 1 as const };
  return Array.from({ length: count }, (_, index) => ({ ...message, messageId: index + 1 }));
}

export function acknowledged({ packets }: Client): number {
  return packets.filter(({ cmd }) => cmd === 'puback').length;
}

/** Its answer shows that everything before was read. */
const LAST: Packet = { cmd: 'unsubscribe', messageId: 60_000, unsubscriptions: ['x'] };

/** A device sends these packets; its connection is not read on. */
function flooding(packetsOf: (device: TestDevice) => readonly Packet[]): LimitRow['offend'] {
  return async ({ home, device }) => {
    const client = await home.client(device, { clientId: `over-${device.id}` });
    client.send(...packetsOf(device), LAST);
    return async () => {
      expect(client.packets.some(({ cmd }) => cmd === 'unsuback')).toBe(false);
    };
  };
}

function alarmsOf({ id }: TestDevice, count: number, more = ''): Packet[] {
  const alarms = Array.from(
    { length: count },
    (_, n) => `{"kind":"fall","id":"${randomUUID()}","n":${n}${more}}`,
  );
  return alarms.flatMap((alarm, index) =>
    values(`devices/${id}/alarms`, 1, alarm).map((one) => ({ ...one, messageId: index + 1 })),
  );
}

const SLOWED = 'A device is slowed to its limit of';

/** A device floods this packet. */
function packetFlood(cmd: 'pingreq' | 'puback' | 'pubrel'): LimitRow {
  return {
    name: `a device's messages a second, as ${cmd}`,
    limits: { 'device.messagesPerSecond': 10 },
    // More than is read in one turn.
    offend: flooding(() => Array.from({ length: 1_000 }, () => ({ cmd, messageId: 1 }))),
    fault: `${SLOWED} 10 messages a second`,
    slowed: 'device.messagesPerSecond',
  };
}

export const LIMITS: readonly LimitRow[] = [
  {
    name: "a device's messages a second",
    limits: { 'device.messagesPerSecond': 10 },
    offend: flooding(({ id }) => values(`devices/${id}/t`, 400)),
    fault: `${SLOWED} 10 messages a second`,
    slowed: 'device.messagesPerSecond',
  },
  packetFlood('pingreq'),
  packetFlood('pubrel'),
  packetFlood('puback'),
  {
    name: "a device's messages a second, by their bytes",
    limits: { 'device.messagesPerSecond': 6 },
    offend: flooding(({ id }) => values(`devices/${id}/t`, 50, 'x'.repeat(4_000))),
    fault: SLOWED,
    slowed: 'device.messagesPerSecond',
  },
  {
    name: "a device's alarms a day",
    limits: { 'device.alarmsPerDay': 10 },
    offend: flooding((device) => alarmsOf(device, 40)),
    fault: SLOWED,
    slowed: 'device.alarmsPerDay',
  },
  {
    name: "a token's messages a second",
    limits: { 'token.messagesPerSecond': 2 },
    offend: async ({ home, device }) => {
      const client = await home.client(home.manager, { clientId: `over-${device.id}` });
      client.send(...values(home.filter(device, 'commands/light'), 400));
      return undefined;
    },
    fault: 'An access token is slowed to its limit of 2 messages a second',
    subject: 'token',
    slowed: 'token.messagesPerSecond',
  },
  {
    name: "a device's connections",
    offend: async ({ home, device }) => {
      const clientIds = Array.from({ length: 128 }, (_, n) => `${device.id}-${n}`);
      const open = () =>
        Promise.all(clientIds.map((clientId) => home.client(device, { clientId })));
      await open();
      // A takeover stays within the limit.
      const held = await open();
      const refused = await attempt(home, device, { clientId: `over-${device.id}` });
      expect(refused.code).toBe(UNAVAILABLE);
      await refused.client.closed();
      for (const client of held) await client.ping();
      return async () => {
        held[0]?.vanish();
        await expect.poll(async () => (await attempt(home, device)).code).toBe(0);
      };
    },
    fault: 'Too many connections: further ones are refused',
    quota: 'connections',
    denied: 'too-many-connections',
  },
  {
    name: "a device's sessions: a new one takes the place of the one that was away longest",
    offend: async ({ home, device }) => {
      const ids = ['s-1', 's-2', 's-3', 's-4', 's-5', 's-6'];
      for (const id of ids) await comeAndGo(home, device, id, ...commandsOf(device, 0, 1));
      const present = [];
      for (const id of ids.toReversed()) present.push(await comeAndGo(home, device, id));
      expect(present).toEqual([true, true, true, true, true, false]);
      // None is given up while it is in use.
      for (const clientId of ['u-1', 'u-2', 'u-3', 'u-4', 'u-5'])
        await home.client(device, { clientId, clean: false });
      const options = { clientId: `over-${device.id}`, clean: false };
      expect((await attempt(home, device, options)).code).toBe(UNAVAILABLE);
      return undefined;
    },
    fault: 'Too many persistent sessions',
    quota: 'persistent_sessions',
    denied: 'too-many-sessions',
  },
  {
    name: "a token's sessions: a new one is refused rather than losing what waits; one without filters makes room",
    limits: { 'token.persistentSessions': 2 },
    offend: async ({ home, device }) => {
      const filter = home.filter(device, 'alarms/#');
      await comeAndGo(home, home.manager, 'holds', filter);
      await comeAndGo(home, home.manager, 'holds-nothing');
      await comeAndGo(home, home.manager, 'new', filter);
      await home.publish(device, 'alarms', '{"kind":"fall"}');
      const options = { clientId: `over-${device.id}`, clean: false };
      expect((await attempt(home, home.manager, options)).code).toBe(UNAVAILABLE);
      expect((await attempt(home, home.manager)).code).toBe(0);
      for (const clientId of ['holds', 'new']) {
        const back = await home.client(home.manager, { clientId, clean: false });
        await back.next('publish');
      }
      return undefined;
    },
    fault: 'Too many persistent sessions',
    subject: 'token',
    quota: 'persistent_sessions',
    denied: 'too-many-sessions',
  },
  {
    name: "a device's subscriptions, over all its sessions; the same filter counts once",
    offend: async ({ home, device }) => {
      const [one, two] = [
        await home.client(device),
        await home.client(device, { clientId: `over-${device.id}` }),
      ];
      expect(await one.subscribe(commandsOf(device, 0, 99))).toEqual(Array(99).fill(1));
      const [first = ''] = commandsOf(device, 99, 1);
      expect(await two.subscribe([first, first, ...commandsOf(device, 100, 1)])).toEqual([
        1,
        1,
        DENIED,
      ]);
      // One that exists may be subscribed to again, at another QoS.
      expect(await two.subscribe(first, { qos: 0 })).toEqual([0]);
      return async () => {
        await one.unsubscribe(...commandsOf(device, 0, 3));
        await expect.poll(() => two.subscribe(commandsOf(device, 100, 1))).toEqual([1]);
      };
    },
    fault: 'Too many subscriptions',
    quota: 'subscriptions',
    denied: 'too-many-subscriptions',
  },
  {
    name: "a device's retained topics: further ones are forwarded, and not retained",
    offend: ({ home, device }) => {
      const rests = Array.from({ length: 502 }, (_, n) => `${1_000 + n}`);
      const messages = rests.map((rest) => [rest, '1']);
      return retaining(home, device, messages, rests.slice(0, 500));
    },
    fault: 'Too many retained messages',
    quota: 'retained',
  },
  {
    name: "the bytes of a device's retained messages: an older value goes when the new one does not fit",
    offend: ({ home, device }) => {
      const large = JSON.stringify('x'.repeat(250_000));
      const rests = Array.from('bcdefghijklmnopq');
      const messages = [['a', '1'], ...rests.map((rest) => [rest, large]), ['a', large]];
      return retaining(home, device, messages, rests);
    },
    fault: 'Too many retained messages',
    quota: 'retained',
  },
  {
    name: 'all retained messages of the gateway',
    limits: { 'total.retainedBytes': 20_000 },
    offend: ({ home, device }) => {
      const large = JSON.stringify('x'.repeat(12_000));
      return retaining(
        home,
        device,
        [
          ['a', large],
          ['b', large],
        ],
        ['a'],
      );
    },
    fault: 'Retained messages',
    subject: 'nobody',
  },
];

/** Retains the payloads in order. These topics must then be left, and there is room again once the first is empty. */
async function retaining(
  home: Home,
  device: TestDevice,
  messages: readonly (readonly string[])[],
  left: readonly string[],
): Promise<() => Promise<void>> {
  const nurse = await home.nurse({ filters: [home.filter(device, '+')] });
  const retained = async () => {
    const topics = [...(await home.retained(home.filter(device, '+'))).keys()];
    const rests = topics.map((topic) => topic.split('/').at(-1) ?? '');
    return rests.filter((rest) => rest !== 'status').sort();
  };
  const sensor = await home.client(device);
  await Promise.all(
    messages.map(([rest, payload = '']) =>
      sensor.publish(`devices/${device.id}/${rest}`, payload, { retain: true }),
    ),
  );
  // All of them are forwarded.
  const forwarded = () => nurse.client.topics.filter((topic) => !topic.endsWith('/status'));
  await nurse.until(() => forwarded().length >= messages.length, 'all of them');
  expect(await retained()).toEqual(left);
  return async () => {
    await home.publish(device, left[0] ?? '', '', { retain: true });
    await home.publish(device, 'z', '1', { retain: true });
    expect(await retained()).toEqual([...left.slice(1), 'z']);
  };
}
