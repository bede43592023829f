import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { connect } from '../former/clients/mqtt-clients.js';
import { eventually } from '../former/eventually.js';
import { ADMIN_TOKEN } from '../former/gateway/running-gateway.js';
import { Authority } from '../former/servers/certificates.js';
import { useRedis } from '../former/servers/shared-redis.js';
import { unusedPort } from '../former/servers/unused-port.js';
import { failure } from '../http/client.js';
import { startGateway, type TestGateway } from '../http/harness.js';
import { SECRET, WebhookReceiver } from './webhook-receiver.js';

const redis = useRedis();
const ALARMS = 'care-homes/+/devices/+/alarms/#';
const EVERYTHING: Given = { outputs: (port) => [hook(port, { topics: ['#'] })] };

const statusBody = z.looseObject({
  name: z.string(),
  state: z.string(),
  queued: z.number(),
  delivered: z.number(),
  dropped: z.looseObject({ refused: z.number(), tooOld: z.number() }),
  lastError: z.looseObject({ detail: z.string() }).nullable(),
});

interface Given {
  readonly outputs?: (port: number) => readonly object[];
  readonly environment?: Record<string, string>;
}

function hook(port: number, more: object = {}) {
  const url = `http://127.0.0.1:${port}/hook?token=very-secret`;
  const output = { name: 'app', type: 'webhook', url, secret: SECRET, topics: [ALARMS] };
  return { ...output, allowPrivate: true, ...more };
}

async function start({ outputs = (port) => [hook(port)], environment = {} }: Given = {}) {
  const receiver = await WebhookReceiver.start();
  onTestFinished(() => receiver.stop());
  const gateway = await startGateway(redis, {
    environment: { ...environment, GATEWAY_OUTPUTS: JSON.stringify(outputs(receiver.port)) },
  });
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  return { receiver, gateway, locationId, deviceId };
}

async function statusOf(gateway: TestGateway) {
  const { json } = await gateway.admin('GET', '/outputs');
  return z.array(statusBody).min(1).parse(json)[0];
}

async function faultsOf(gateway: TestGateway): Promise<string[]> {
  return (await gateway.faults()).filter((text) => text.includes('webhook'));
}

/** Answers after which the same message is tried again. */
const TRIED_AGAIN = [
  ['Retry-After: 0', { status: 503, headers: { 'Retry-After': '0' } }],
  [
    'a date in the past',
    { status: 503, headers: { 'Retry-After': 'Sun, 06 Nov 1994 08:49:37 GMT' } },
  ],
  [
    'a date of RFC 850',
    { status: 503, headers: { 'Retry-After': 'Sunday, 06-Nov-94 08:49:37 GMT' } },
  ],
  ['a date of asctime', { status: 503, headers: { 'Retry-After': 'Sun Nov  6 08:49:37 1994' } }],
  ['no date', { status: 429, headers: { 'Retry-After': 'soon' } }],
  ['a year', { status: 429, headers: { 'Retry-After': '-1' } }],
  ['a fraction', { status: 301, headers: { 'Retry-After': '0.1', Location: '/' } }],
  ['404', { status: 404 }],
  ['a status that is none', { status: 999 }],
  ['the end of the connection', 'hang up'],
] as const;

describe('a webhook', () => {
  it('delivers what a subscriber with its filters would get, signed, and nothing else', async () => {
    const { receiver, gateway, locationId, deviceId } = await start();
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall', level: 1.1 });
    await gateway.publish(deviceId, 'temperature', ['21.5']);
    const second = await gateway.recordAlarm(deviceId, { kind: 'noise' });
    await eventually(() => expect(receiver.taken).toEqual([id, second]));
    const [first] = receiver.received;
    expect(first?.topic).toBe(`care-homes/${locationId}/devices/${deviceId}/alarms/fall`);
    expect(JSON.parse(first?.text ?? '')).toMatchObject({
      payload: { kind: 'fall', data: { level: 1.1 }, device: { id: deviceId, name: 'Bett 1' } },
    });
    expect(first?.headers['webhook-id']).toMatch(/^msg_/);
    expect(first?.headers['webhook-id']).not.toBe(receiver.received[1]?.headers['webhook-id']);
    const status = await statusOf(gateway);
    expect(status).toMatchObject({ name: 'app', state: 'delivering', queued: 0, lastError: null });
    const proof = await gateway.admin('GET', `/care-homes/${locationId}/alarms/${id}/deliveries`);
    expect(proof.json).toMatchObject({
      deliveries: [
        { destination: { type: 'webhook', id: 'app', name: 'app' }, state: 'delivered' },
      ],
    });
  });

  it('is limited to its locations', async () => {
    const gateway = await startGateway(redis);
    const [here, elsewhere] = [await gateway.createLocation(), await gateway.createLocation()];
    const devices = [await gateway.createDevice(here), await gateway.createDevice(elsewhere)];
    const receiver = await WebhookReceiver.start();
    onTestFinished(() => receiver.stop());
    await gateway.running.stop();
    const output = hook(receiver.port, { locations: [here.toUpperCase()], topics: ['#'] });
    await gateway.running.configure({ outputs: [output] });
    await gateway.running.start();
    await gateway.recordAlarm(devices[1] ?? '', { kind: 'fall' });
    const id = await gateway.recordAlarm(devices[0] ?? '', { kind: 'fall' });
    await eventually(() => expect(receiver.taken).toContain(id));
    for (const { topic } of receiver.received) expect(topic).toContain(here);
  });

  it('gets no command to a device, and no message for the device alone, whatever its filters', async () => {
    const { receiver, gateway, locationId, deviceId } = await start(EVERYTHING);
    const manager = await connect(gateway.running, { username: 'admin', password: ADMIN_TOKEN });
    const topic = `care-homes/${locationId}/devices/${deviceId}/commands/pin`;
    await manager.publishAsync(topic, '1234', { qos: 1 });
    await gateway.publish(deviceId, 'alarms', ['no kind']);
    await gateway.publish(deviceId, 'temperature', ['21.5']);
    const topics = () => receiver.received.map(({ topic }) => topic).join(' ');
    await eventually(() => expect(topics()).toMatch(/rejected .*temperature/));
    expect(topics()).not.toMatch(/(^| )devices/);
  });

  it.each([
    ['500', { status: 500 }, 'the receiver answers 500'],
    ['401', { status: 401 }, 'the receiver answers 401'],
    ['403', { status: 403 }, 'the receiver answers 403'],
    ['404', { status: 404 }, 'the receiver answers 404'],
    ['405', { status: 405 }, 'the receiver answers 405'],
    ['410', { status: 410 }, 'the receiver answers 410'],
    ['408', { status: 408 }, 'the receiver answers 408'],
    ['425', { status: 425 }, 'the receiver answers 425'],
    ['503', { status: 503 }, 'the receiver answers 503'],
    ['429', { status: 429, headers: { 'Retry-After': '1' } }, 'the receiver answers 429'],
    ['a redirect', { status: 307, headers: { Location: '/x' } }, 'the receiver answers 307'],
    ['the end of the connection', 'hang up', 'the receiver cannot be reached (ECONNRESET)'],
  ] as const)('retries after %s, in order, and reports it', async (_, answer, reason) => {
    const { receiver, gateway, deviceId } = await start();
    let left = 2;
    receiver.answer = () => (left-- > 0 ? answer : { status: 204 });
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 20 }, () => ({ kind: 'fall' })),
    );
    await eventually(async () => {
      expect(await faultsOf(gateway)).toEqual([`A webhook is failing: ${reason}: webhook app`]);
      expect((await statusOf(gateway))?.state).toBe('failing');
    });
    await eventually(() => expect(receiver.taken).toEqual(ids));
    const attempts = receiver.received.filter(({ id }) => id === ids[0]);
    expect(attempts).toHaveLength(3);
    expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await eventually(async () => expect(await faultsOf(gateway)).toEqual([]));
    expect(await statusOf(gateway)).toMatchObject({
      state: 'delivering',
      lastError: { detail: reason },
    });
    expect(gateway.logged.join()).not.toContain('very-secret');
    expect(gateway.logged.join()).not.toContain(SECRET);
  });

  it('never tries again sooner than a second, and later each time, whatever the receiver answers', async () => {
    const tried = await Promise.all(
      TRIED_AGAIN.map(async ([after, answer], index) => {
        const receiver = await WebhookReceiver.start();
        const atMs: number[] = [];
        receiver.answer = () => {
          atMs.push(performance.now());
          return answer;
        };
        return { after, atMs, receiver, output: hook(receiver.port, { name: `app-${index}` }) };
      }),
    );
    onTestFinished(async () => {
      await Promise.all(tried.map(({ receiver }) => receiver.stop()));
    });
    const { gateway, deviceId } = await start({ outputs: () => tried.map(({ output }) => output) });
    await gateway.recordAlarms(deviceId, [{ kind: 'fall' }, { kind: 'fall' }]);
    await eventually(() => {
      const fewest = Math.min(...tried.map(({ atMs }) => atMs.length));
      expect(fewest).toBeGreaterThanOrEqual(4);
    });
    for (const { after, atMs } of tried) {
      const waits = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
      // A timer may fire a millisecond early.
      const isLater = waits.map((wait, index) => wait > 999 * 2 ** index);
      expect([after, isLater]).toEqual([after, waits.map(() => true)]);
    }
  });

  it('treats ten seconds of silence as a failure, and an endless answer as a delivery', async () => {
    const { receiver, gateway, deviceId } = await start();
    const answers = ['silence', 'endless'] as const;
    receiver.answer = () => answers[receiver.received.length] ?? { status: 200 };
    const ids = await gateway.recordAlarms(deviceId, [{ kind: 'fall' }, { kind: 'fall' }]);
    await eventually(async () =>
      expect(await faultsOf(gateway)).toEqual([
        'A webhook is failing: no answer within 10 s: webhook app',
      ]),
    );
    await eventually(() => expect(receiver.taken).toEqual(ids));
    expect(receiver.received.map(({ id }) => id)).toEqual([ids[0], ...ids]);
    await eventually(async () =>
      expect(await statusOf(gateway)).toMatchObject({ queued: 0, delivered: 2 }),
    );
  });

  it('waits for a receiver that is not up', async () => {
    const port = await unusedPort();
    const { gateway, deviceId } = await start({ outputs: () => [hook(port)] });
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const reason = 'the receiver cannot be reached (ECONNREFUSED)';
    const text = `A webhook is failing: ${reason}: webhook app`;
    await eventually(async () => expect(await faultsOf(gateway)).toEqual([text]));
    const receiver = await WebhookReceiver.start(port);
    onTestFinished(() => receiver.stop());
    await eventually(() => expect(receiver.taken).toEqual([id]));
  });

  it('sends nothing to a receiver with an untrusted certificate', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const authority = await Authority.create(directory);
    const { certFile, keyFile } = await authority.server('IP:127.0.0.1');
    const tls = { cert: await readFile(certFile), key: await readFile(keyFile) };
    const receiver = await WebhookReceiver.start(0, tls);
    onTestFinished(() => receiver.stop());
    const url = `https://127.0.0.1:${receiver.port}/`;
    const { gateway, deviceId } = await start({ outputs: (port) => [hook(port, { url })] });
    await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const reason = 'the receiver cannot be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE)';
    const text = `A webhook is failing: ${reason}: webhook app`;
    await eventually(async () => expect(await faultsOf(gateway)).toEqual([text]));
    expect(receiver.received).toEqual([]);
    expect(await statusOf(gateway)).toMatchObject({ queued: 1, delivered: 0 });
  });

  it('delays no other webhook, and keeps everything across a restart', async () => {
    const other = await WebhookReceiver.start();
    onTestFinished(() => other.stop());
    const { receiver, gateway, deviceId } = await start({
      outputs: (port) => [hook(port), hook(other.port, { name: 'other' })],
    });
    receiver.answer = () => 'silence';
    const ids = await gateway.recordAlarms(
      deviceId,
      Array.from({ length: 30 }, () => ({ kind: 'fall' })),
    );
    await eventually(() => expect(other.taken).toEqual(ids));
    await gateway.running.stop();
    receiver.answer = () => ({ status: 200 });
    await gateway.running.start();
    await eventually(() => expect(receiver.taken).toEqual(ids));
    expect(other.taken).toEqual(ids);
    const attempts = receiver.received.filter(({ id }) => id === ids[0]);
    expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('keeps the order of each device, and sends those of several concurrently', async () => {
    const { receiver, gateway, locationId, deviceId } = await start();
    const devices = [deviceId];
    for (let index = 0; index < 4; index++) devices.push(await gateway.createDevice(locationId));
    let failures = 3;
    receiver.answer = () => (failures-- > 0 ? { status: 503 } : { status: 200 });
    const sent = await Promise.all(
      devices.map((device) =>
        gateway.recordAlarms(
          device,
          Array.from({ length: 10 }, () => ({ kind: 'fall' })),
        ),
      ),
    );
    await eventually(() => expect(receiver.taken.length).toBe(50));
    for (const ids of sent) {
      expect(receiver.taken.filter((id) => ids.includes(id))).toEqual(ids);
    }
  });

  it('sends the alarms of others at once while it refuses those of one device', async () => {
    const { receiver, gateway, locationId, deviceId } = await start();
    const other = await gateway.createDevice(locationId);
    receiver.answer = ({ topic }) => ({ status: topic.includes(deviceId) ? 404 : 200 });
    const refused = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    const tries = () => receiver.received.filter(({ id }) => id === refused);
    await eventually(() => expect(tries().length).toBeGreaterThan(3));
    const taken: string[] = [];
    const before = tries().length;
    for (let count = 0; count < 5; count++) {
      taken.push(await gateway.recordAlarm(other, { kind: 'fall' }));
      await eventually(() => expect(receiver.taken).toEqual(taken));
    }
    // Once more at the first recovery, and not with each of them; otherwise by its own wait.
    expect(tries().length).toBeLessThanOrEqual(before + 2);
    const state = async () => (await statusOf(gateway))?.state;
    receiver.answer = () => ({ status: 200 });
    await eventually(() => expect(receiver.taken).toContain(refused));
    await eventually(async () => expect(await state()).toBe('delivering'));
  });

  it('is failing until an alarm is taken, whatever else the receiver takes', async () => {
    const { receiver, gateway, deviceId } = await start(EVERYTHING);
    receiver.answer = ({ topic }) => ({ status: topic.includes('/alarms/') ? 401 : 200 });
    await gateway.recordAlarm(deviceId, { kind: 'fall' });
    await eventually(async () => expect((await statusOf(gateway))?.state).toBe('failing'));
    const device = await gateway.connectDevice(deviceId);
    // Its status.
    await eventually(() =>
      expect(receiver.received.some(({ status }) => status === 200)).toBe(true),
    );
    await device.endAsync();
    await eventually(async () => {
      const text =
        'The receiver of a webhook refuses alarms: the receiver answers 401: webhook app';
      expect(await faultsOf(gateway)).toEqual([text]);
      expect((await statusOf(gateway))?.state).toBe('refusing');
    });
    receiver.answer = () => ({ status: 200 });
    await eventually(async () => expect(await faultsOf(gateway)).toEqual([]));
  });

  it('tells the alarms of two devices with one id apart', async () => {
    const { receiver, gateway, locationId, deviceId } = await start();
    const id = randomUUID();
    const devices = [deviceId, await gateway.createDevice(locationId)];
    for (const device of devices) await gateway.recordAlarm(device, { kind: 'fall', id });
    await eventually(() => expect(receiver.taken).toEqual([id, id]));
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
  });

  it('queues no message at QoS 0 in front of alarms while the receiver fails', async () => {
    const { receiver, gateway, deviceId } = await start(EVERYTHING);
    receiver.answer = () => ({ status: 500 });
    const first = await gateway.recordAlarm(deviceId, { kind: 'noise' });
    await eventually(() => expect(receiver.received).not.toEqual([]));
    const sensor = await gateway.connectDevice(deviceId);
    for (let count = 0; count < 100; count++) sensor.publish(`devices/${deviceId}/value`, '1');
    const second = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    receiver.answer = () => ({ status: 204 });
    await eventually(() => expect(receiver.taken).toEqual([first, second]));
    expect(receiver.received.map(({ topic }) => topic).join()).not.toContain('/value');
  });

  it('makes a dead letter of what is refused, to be viewed and resent', async () => {
    const { receiver, gateway, deviceId, locationId } = await start();
    receiver.answer = ({ topic }) => ({ status: topic.endsWith('/fall') ? 422 : 200 });
    const falls = await gateway.recordAlarms(deviceId, [{ kind: 'fall' }, { kind: 'fall' }]);
    const noise = await gateway.recordAlarm(deviceId, { kind: 'noise' });
    await eventually(() => expect(receiver.taken).toEqual([noise]));
    await eventually(async () => expect((await statusOf(gateway))?.dropped.refused).toBe(2));
    const path = '/outputs/app/dead-letters';
    const { json } = await gateway.admin('GET', path);
    const topic = `care-homes/${locationId}/devices/${deviceId}/alarms/fall`;
    const letter = { topic, reason: 'the receiver answers 422' };
    expect(json).toMatchObject([letter, letter]);
    const again = () => gateway.admin('POST', `${path}/send-again`);
    expect((await again()).json).toEqual({ sent: 0, reason: 'the receiver answers 422' });
    receiver.answer = () => ({ status: 200 });
    expect((await again()).json).toEqual({ sent: 2, reason: null });
    expect(receiver.taken).toEqual([noise, ...falls]);
    expect((await gateway.admin('GET', path)).json).toEqual([]);
    expect(failure(await gateway.admin('GET', '/outputs/none/dead-letters'))).toBe(
      '404 output-not-found',
    );
    expect(await faultsOf(gateway)).toEqual([]);
  });

  it.each([400, 413, 415, 422])(
    'that refuses alarms with %i is a fault until it takes one',
    async (status) => {
      const { receiver, gateway, deviceId } = await start({
        outputs: (port) => [hook(port, { topics: ['#'] })],
      });
      receiver.answer = () => ({ status });
      await gateway.recordAlarm(deviceId, { kind: 'fall' });
      const detail = `the receiver answers ${status}`;
      await eventually(async () => {
        expect(await faultsOf(gateway)).toEqual([
          `The receiver of a webhook refuses alarms: ${detail}: webhook app`,
        ]);
      });
      expect(await statusOf(gateway)).toMatchObject({ state: 'refusing', lastError: { detail } });
      receiver.answer = () => ({ status: 200 });
      await gateway.publish(deviceId, 'temperature', ['21.5']);
      await eventually(() => {
        expect(receiver.received.some(({ topic }) => topic.endsWith('/temperature'))).toBe(true);
      });
      expect((await statusOf(gateway))?.state).toBe('refusing');
      await gateway.recordAlarm(deviceId, { kind: 'fall' });
      await eventually(async () => expect(await faultsOf(gateway)).toEqual([]));
      expect(await statusOf(gateway)).toMatchObject({ state: 'delivering', lastError: { detail } });
    },
  );

  it('keeps the id of an alarm, of its states and of its live copies apart and the same', async () => {
    const { receiver, gateway, locationId, deviceId } = await start(EVERYTHING);
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    for (const change of ['acknowledge', 'resolve']) {
      await gateway.admin('POST', `/care-homes/${locationId}/alarms/${id}/${change}`);
    }
    const ofAlarm = () => receiver.received.filter((one) => one.id === id);
    await eventually(() => expect(ofAlarm()).toHaveLength(3));
    const ids = ofAlarm().map(({ headers }) => String(headers['webhook-id']));
    expect(ids[0]).toMatch(new RegExp(`^msg_.*_${id}$`));
    expect(new Set(ids).size).toBe(3);
  });

  it('connects to no private address unless allowed, by number or by name', async () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '[::ffff:192.168.0.1]']) {
      const { receiver, gateway, deviceId } = await start({
        outputs: (port) => [hook(port, { url: `http://${host}:${port}/`, allowPrivate: false })],
      });
      await gateway.recordAlarm(deviceId, { kind: 'fall' });
      const text =
        'A webhook is failing: the address is private, and allowPrivate is false: webhook app';
      await eventually(async () => expect(await faultsOf(gateway), host).toEqual([text]));
      expect(receiver.received).toEqual([]);
      expect(await statusOf(gateway)).toMatchObject({ queued: 1, delivered: 0 });
    }
  });

  it('sends its events, escalations and states, too, by its filters', async () => {
    const { receiver, gateway, locationId, deviceId } = await start({
      outputs: (port) => [hook(port, { topics: ['care-homes/+/devices/+/+/#'] })],
      environment: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' },
    });
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall' });
    await gateway.admin('POST', `/care-homes/${locationId}/alarms/${id}/acknowledge`);
    gateway.aheadMs += 61_000;
    const levels = () =>
      new Set(receiver.received.map(({ topic }) => topic.split('/').slice(4).join('/')));
    await eventually(() => {
      for (const level of ['alarms/fall', 'alarm-states/fall', 'supervision', 'status']) {
        expect(levels()).toContain(level);
      }
    });
  });
});
