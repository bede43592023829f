/**
 * Webhooks: what they send, how they try again, and what the operator sees (docs/operate/outputs.md, contract 4.2).
 * The receivers check each signature as their users do.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Authority } from '../harness/certificates.js';
import {
  describe,
  expect,
  type GatewayOptions,
  type Home,
  type Own,
  test,
} from '../harness/index.js';
import { claimPort } from '../harness/program.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../harness/receivers.js';

const ALARMS = 'care-homes/+/devices/+/alarms/#';
const EVERYTHING = { topics: ['#'] };
/** A timer may fire a millisecond early. */
const FIRST_PAUSE_MS = 999;

function hook(port: number, keys: object = {}) {
  const url = `http://127.0.0.1:${port}/hook?token=very-secret`;
  const output = { name: 'app', type: 'webhook', url, secret: WEBHOOK_SECRET, topics: [ALARMS] };
  return { ...output, allowPrivate: true, ...keys };
}

function receive(own: Own, port?: number): Promise<WebhookReceiver> {
  return own.keep(WebhookReceiver.start(port), (one) => one.stop());
}

/** A home in a gateway of its own with one webhook. */
async function hooked(own: Own, keys: object = {}, options: GatewayOptions = {}) {
  const receiver = await receive(own);
  const home = await own.home({ config: { outputs: [hook(receiver.port, keys)] }, ...options });
  return { home, receiver };
}

async function outputOf(home: Home, name = 'app'): Promise<Record<string, unknown>> {
  const outputs = (await home.must('GET', '/outputs')).list();
  return outputs.find((one) => one['name'] === name) ?? {};
}

async function untilOutput(home: Home, status: object, name?: string): Promise<void> {
  await expect.poll(() => outputOf(home, name)).toMatchObject(status);
}

async function untilFaults(home: Home, ...texts: string[]): Promise<void> {
  const all = async () => (await home.faults()).filter((text) => text.includes('webhook'));
  await expect.poll(all).toEqual(texts.map((text) => `${text}: webhook app`));
}

const idsOf = (alarms: readonly { readonly id: string | undefined }[]) =>
  alarms.map(({ id }) => id);

describe('what is sent', () => {
  test('what a subscriber with its filters would get, with proof, and nothing else', async ({
    own,
  }) => {
    const { home, receiver } = await hooked(own);
    const sensor = await home.sensor();
    const alarms = await sensor.raise(1, { level: 1.1 });
    await sensor.publish('temperature', '21.5');
    alarms.push(...(await sensor.raise(1, { kind: 'noise' })));
    await expect.poll(() => receiver.taken).toEqual(idsOf(alarms));
    const [first, second] = receiver.received;
    expect(first?.topic).toBe(home.filter(sensor.device, 'alarms/fall'));
    expect(JSON.parse(first?.text ?? '').payload).toMatchObject({
      kind: 'fall',
      data: { level: 1.1 },
      device: { id: sensor.device.id, name: 'Bett 1' },
    });
    expect(first?.headers['webhook-id']).toMatch(new RegExp(`^msg_.*_${alarms[0]?.id}$`));
    expect(second?.headers['webhook-id']).not.toBe(first?.headers['webhook-id']);
    await untilOutput(home, { state: 'delivering', queued: 0, delivered: 2, lastError: null });
    const { json } = await home.must('GET', `./alarms/${alarms[0]?.id}/deliveries`);
    const destination = { type: 'webhook', id: 'app', name: 'app' };
    expect(json).toMatchObject({ deliveries: [{ destination, state: 'delivered' }] });
  });

  test('nothing of other locations than its own, whatever their case', async ({ own }) => {
    const { home: elsewhere, receiver } = await hooked(own);
    const home = await own.homeAt(elsewhere.gateway, 'Haus am Wald');
    const locations = [home.locationId.toUpperCase()];
    await home.gateway.configure({ outputs: [hook(receiver.port, { locations, ...EVERYTHING })] });
    await home.gateway.restart();
    await (await elsewhere.sensor()).raise(1);
    const [alarm] = await (await home.sensor()).raise(1);
    await expect.poll(() => receiver.taken).toContain(alarm?.id);
    for (const { topic } of receiver.received) expect(topic).toContain(home.locationId);
  });

  test('no command, and no message for the device alone, whatever its filters', async ({ own }) => {
    const { home, receiver } = await hooked(own, EVERYTHING);
    const sensor = await home.sensor();
    const manager = await home.client(home.manager);
    await manager.publish(home.filter(sensor.device, 'commands/pin'), '1234');
    await sensor.publish('alarms', 'no kind');
    await sensor.publish('temperature', '21.5');
    const topics = () => receiver.received.map(({ topic }) => topic).join(' ');
    await expect.poll(topics).toMatch(/rejected .*temperature/);
    expect(topics()).not.toMatch(/(^| )devices|commands/);
  });

  test('alarms, states, supervision and presence by its filters, each with an id of its own', async ({
    own,
  }) => {
    const env = { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' };
    const { home, receiver } = await hooked(
      own,
      { topics: ['care-homes/+/devices/+/+/#'] },
      { env, isHurried: true },
    );
    const sensor = await home.sensor();
    const [alarm] = await sensor.raise(1);
    for (const change of ['acknowledge', 'resolve'])
      await home.must('POST', `./alarms/${alarm?.id}/${change}`);
    const ofAlarm = () => receiver.received.filter(({ id }) => id === alarm?.id);
    await expect.poll(ofAlarm).toHaveLength(3);
    expect(new Set(ofAlarm().map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    await sensor.end();
    await home.gateway.clock.advance(61_000);
    const rests = () => receiver.received.map(({ topic }) => topic.split('/').slice(4).join('/'));
    await expect
      .poll(rests)
      .toEqual(
        expect.arrayContaining(['alarms/fall', 'alarm-states/fall', 'supervision', 'status']),
      );
  });

  test('the alarms of two devices with one id as two', async ({ own }) => {
    const { home, receiver } = await hooked(own);
    const id = randomUUID();
    for (const sensor of [await home.sensor(), await home.sensor()]) await sensor.raise(1, { id });
    await expect.poll(() => receiver.taken).toEqual([id, id]);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  });
});

/** Answers after which the same message is tried again, and what the operator reads. */
const TRIED_AGAIN = [
  ...[500, 401, 403, 404, 405, 410, 408, 425, 503, 999].map(
    (status) => [{ status }, `the receiver answers ${status}`] as const,
  ),
  [{ status: 307, headers: { Location: '/x' } }, 'the receiver answers 307'],
  ['hang up', 'the receiver cannot be reached (ECONNRESET)'],
  // A time in the past, none, or less than a second (RFC 9110, 10.2.3).
  ...[
    '0',
    '1',
    '-1',
    '0.1',
    'soon',
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ].map(
    (after) =>
      [{ status: 429, headers: { 'Retry-After': after } }, 'the receiver answers 429'] as const,
  ),
] as const;

describe('a receiver that fails', () => {
  test('gets the same again, in order, after a second at the earliest and later each time', async ({
    own,
  }) => {
    const rows = await Promise.all(
      TRIED_AGAIN.map(async ([answer, reason], index) => {
        const receiver = await receive(own);
        const atMs: number[] = [];
        receiver.answer = () => {
          atMs.push(performance.now());
          return atMs.length <= 3 ? answer : { status: 204 };
        };
        return { name: `app-${index}`, what: JSON.stringify(answer), reason, receiver, atMs };
      }),
    );
    const outputs = rows.map(({ name, receiver }) => hook(receiver.port, { name }));
    const home = await own.home({ config: { outputs } });
    const ids = idsOf(await (await home.sensor()).raise(5));
    for (const { name, what, reason } of rows) {
      const status = async () => [what, await outputOf(home, name)];
      await expect
        .poll(status)
        .toMatchObject([what, { state: 'failing', lastError: { detail: reason } }]);
    }
    const faults = await home.faults();
    for (const { name, reason } of rows)
      expect(faults).toContain(`A webhook is failing: ${reason}: webhook ${name}`);
    for (const { what, receiver, atMs } of rows) {
      await expect.poll(() => [what, receiver.taken]).toEqual([what, ids]);
      const pauses = atMs.slice(1, 4).map((at, index) => at - (atMs[index] ?? 0));
      const isLate = pauses.map((pause, index) => pause > FIRST_PAUSE_MS * 2 ** index);
      expect([what, isLate]).toEqual([what, [true, true, true]]);
      const attempts = receiver.received.filter(({ id }) => id === ids[0]);
      expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    }
    await expect.poll(() => home.faults()).toEqual([]);
    for (const { name, reason } of rows)
      await untilOutput(home, { state: 'delivering', lastError: { detail: reason } }, name);
    const log = home.gateway.lines.join();
    for (const secret of ['very-secret', WEBHOOK_SECRET]) expect(log).not.toContain(secret);
  });

  test('by ten seconds of silence gets it again; an endless answer is a delivery', async ({
    own,
  }) => {
    const { home, receiver } = await hooked(own);
    const answers = ['silence', 'endless'] as const;
    receiver.answer = () => answers[receiver.received.length] ?? { status: 200 };
    const ids = idsOf(await (await home.sensor()).raise(2));
    await untilFaults(home, 'A webhook is failing: no answer within 10 s');
    await expect.poll(() => receiver.taken).toEqual(ids);
    expect(receiver.received.map(({ id }) => id)).toEqual([ids[0], ...ids]);
    await untilOutput(home, { queued: 0, delivered: 2 });
  });

  test('because it is not up gets everything once it is', async ({ own }) => {
    const port = await claimPort();
    const home = await own.home({ config: { outputs: [hook(port)] } });
    const ids = idsOf(await (await home.sensor()).raise(1));
    await untilFaults(home, 'A webhook is failing: the receiver cannot be reached (ECONNREFUSED)');
    const receiver = await receive(own, port);
    await expect.poll(() => receiver.taken).toEqual(ids);
  });

  test('with an untrusted certificate gets nothing', async ({ own }) => {
    const { certFile, keyFile } = await (await Authority.create(own.directory())).server(
      'IP:127.0.0.1',
    );
    const tls = { cert: await readFile(certFile), key: await readFile(keyFile) };
    const receiver = await own.keep(WebhookReceiver.start(0, tls), (one) => one.stop());
    const url = `https://127.0.0.1:${receiver.port}/`;
    const home = await own.home({ config: { outputs: [hook(receiver.port, { url })] } });
    await (await home.sensor()).raise(1);
    await untilFaults(
      home,
      'A webhook is failing: the receiver cannot be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    );
    expect(receiver.received).toEqual([]);
    await untilOutput(home, { queued: 1, delivered: 0 });
  });

  test('at a private address gets nothing unless allowed, by number or by name', async ({
    own,
  }) => {
    const receiver = await receive(own);
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '[::ffff:192.168.0.1]'];
    const outputs = hosts.map((host, index) =>
      hook(receiver.port, {
        name: `app-${index}`,
        url: `http://${host}:${receiver.port}/`,
        allowPrivate: false,
      }),
    );
    const home = await own.home({ config: { outputs } });
    await (await home.sensor()).raise(1);
    for (const [index, host] of hosts.entries()) {
      const detail = 'the address is private, and allowPrivate is false';
      const status = async () => [host, await outputOf(home, `app-${index}`)];
      await expect
        .poll(status)
        .toMatchObject([host, { queued: 1, delivered: 0, lastError: { detail } }]);
    }
    expect(receiver.received).toEqual([]);
  });

  test('delays no other webhook, and gets everything after a restart', async ({ own }) => {
    const [receiver, other] = [await receive(own), await receive(own)];
    const outputs = [hook(receiver.port), hook(other.port, { name: 'other' })];
    const home = await own.home({ config: { outputs } });
    receiver.answer = () => 'silence';
    const ids = idsOf(await (await home.sensor()).raise(30));
    await expect.poll(() => other.taken).toEqual(ids);
    await home.gateway.stop();
    receiver.answer = () => ({ status: 200 });
    await home.gateway.start();
    await expect.poll(() => receiver.taken).toEqual(ids);
    expect(other.taken).toEqual(ids);
    const attempts = receiver.received.filter(({ id }) => id === ids[0]);
    expect(new Set(attempts.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  test('gets each device’s alarms in order, and no QoS 0 in front of them', async ({ own }) => {
    const { home, receiver } = await hooked(own, EVERYTHING);
    let failures = 3;
    receiver.answer = () => (failures-- > 0 ? { status: 503 } : { status: 200 });
    const sensors = [await home.sensor(), await home.sensor(), await home.sensor()];
    const sent = await Promise.all(sensors.map((sensor) => sensor.raise(10)));
    for (const sensor of sensors)
      for (let n = 0; n < 30; n++) await sensor.publish('value', '1', { qos: 0 });
    const more = await Promise.all(sensors.map((sensor) => sensor.raise(1)));
    await expect.poll(() => receiver.taken.length).toBe(33);
    for (const [index, alarms] of sent.entries()) {
      const ids = idsOf([...alarms, ...(more[index] ?? [])]);
      expect(receiver.taken.filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect(receiver.received.map(({ topic }) => topic).join()).not.toContain('/value');
  });
});

describe('a receiver that refuses', () => {
  test('the alarms of one device gets those of the others at once', async ({ own }) => {
    const { home, receiver } = await hooked(own);
    const [odd, other] = [await home.sensor(), await home.sensor()];
    receiver.answer = ({ topic }) => ({ status: topic.includes(odd.device.id) ? 404 : 200 });
    const [refused] = await odd.raise(1);
    const tries = () => receiver.received.filter(({ id }) => id === refused?.id).length;
    await expect.poll(tries).toBeGreaterThan(2);
    const before = tries();
    const ids: (string | undefined)[] = [];
    for (let count = 0; count < 5; count++) {
      ids.push(...idsOf(await other.raise(1)));
      await expect.poll(() => receiver.taken, { interval: 5 }).toEqual(ids);
    }
    // Once more at the first recovery, and not with each of them; otherwise by its own wait.
    expect(tries()).toBeLessThanOrEqual(before + 2);
    receiver.answer = () => ({ status: 200 });
    await expect.poll(() => receiver.taken).toContain(refused?.id);
    await untilOutput(home, { state: 'delivering' });
  });

  test('alarms and takes all else is a fault until it takes an alarm', async ({ own }) => {
    const { home, receiver } = await hooked(own, EVERYTHING);
    receiver.answer = ({ topic }) => ({ status: topic.includes('/alarms/') ? 401 : 200 });
    const sensor = await home.sensor();
    await sensor.raise(1);
    await untilOutput(home, { state: 'failing' });
    // The presence of another device is taken.
    await home.sensor();
    await untilFaults(home, 'The receiver of a webhook refuses alarms: the receiver answers 401');
    await untilOutput(home, { state: 'refusing' });
    receiver.answer = () => ({ status: 200 });
    await untilFaults(home);
  });

  test('for good makes dead letters, to be viewed and sent again, and is a fault until it takes an alarm', async ({
    own,
  }) => {
    const statuses = [400, 413, 415, 422];
    const { home, receiver } = await hooked(own);
    const sensor = await home.sensor();
    const all: (string | undefined)[] = [];
    for (const status of statuses) {
      const detail = `the receiver answers ${status}`;
      receiver.answer = () => ({ status });
      all.push(...idsOf(await sensor.raise(1)));
      await untilFaults(home, `The receiver of a webhook refuses alarms: ${detail}`);
      await untilOutput(home, {
        state: 'refusing',
        lastError: { detail },
        dropped: { refused: all.length },
      });
    }
    const path = '/outputs/app/dead-letters';
    const topic = home.filter(sensor.device, 'alarms/fall');
    const letters = (await home.must('GET', path)).list();
    expect(letters.map(({ topic: of, reason }) => [of, reason])).toEqual(
      statuses.toReversed().map((status) => [topic, `the receiver answers ${status}`]),
    );
    const again = async () => (await home.must('POST', `${path}/send-again`)).json;
    // Who comes while they are being sent changes nothing, and leaves no record.
    const both = await Promise.all([again(), again()]);
    const sent = both.filter((answer) => Object(answer).reason === 'the receiver answers 422');
    const events = (await home.must('GET', '/audit')).list('events');
    const records = events.filter(({ action }) => action === 'output.sent-again');
    expect(records).toHaveLength(sent.length);
    receiver.answer = () => ({ status: 200 });
    expect(await again()).toEqual({ sent: 4, reason: null });
    expect(receiver.taken).toEqual(all);
    expect((await home.must('GET', path)).list()).toEqual([]);
    await untilFaults(home);
    expect((await home.ask('GET', '/outputs/none/dead-letters')).outcome).toBe(
      '404 output-not-found',
    );
  });
});
