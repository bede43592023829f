/** What whoever looks after a box gets: a dead man's call, and changes without a restart (contract 6). */
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { EmbeddedStore } from '../harness/gateway.js';
import { ask, describe, expect, type Own, test } from '../harness/index.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../harness/receivers.js';

const MINUTE_MS = 60_000;

describe('the watchdog', () => {
  /** A server that counts the calls it gets. */
  async function called(own: Own) {
    const calls: string[] = [];
    const server = createServer(({ method, url }, response) => {
      calls.push(`${method} ${url}`);
      response.end('OK');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    own.onEnd(() => server.close());
    const { port } = server.address() as AddressInfo;
    return { calls, url: `http://127.0.0.1:${port}/ping/7` };
  }

  test('is called each minute while the gateway is ready, and not while it is not', async ({
    own,
  }) => {
    const { calls, url } = await called(own);
    const home = await own.home({ config: { watchdog: { url } }, hasStoppedClock: true });
    await expect.poll(() => calls).toEqual(['GET /ping/7']);
    await home.gateway.clock.advance(MINUTE_MS);
    await expect.poll(() => calls).toHaveLength(2);
    const store = await home.store();
    store.freeze();
    await expect.poll(() => home.faults()).toContainEqual(expect.stringContaining('store'));
    await home.gateway.clock.advance(5 * MINUTE_MS);
    await home.gateway.clock.advance(MINUTE_MS);
    expect(calls).toHaveLength(2);
    store.thaw();
    await expect.poll(() => calls).toHaveLength(3);
  });
});

describe('an access token limited to networks', () => {
  test('does not exist outside of them, over HTTP and MQTT, from the moment it is limited', async ({
    home,
  }) => {
    const grants = [{ location: home.locationId, role: 'viewer' }];
    const create = (networks: unknown) =>
      home.ask('POST', '/access-tokens', { json: { name: 'Station', grants, networks } });
    for (const networks of [['10.0.0.0/33'], ['localhost'], ['10.0.0.1'], [], 'all']) {
      expect((await create(networks)).status).toBe(400);
    }
    const nets = ['127.0.0.0/8', 'fd00::/8'];
    const made = await home.must('POST', '/access-tokens', {
      json: { name: 'Station', grants, networks: nets },
    });
    expect(made.at('networks')).toEqual(nets);
    const token = { id: made.id, token: made.string('token') };
    const asked = async () =>
      (await home.ask('GET', '/access-tokens/current', { token: token.token })).status;
    expect(await asked()).toBe(200);
    const nurse = await home.nurse({ token });
    await home.must('PATCH', `/access-tokens/${token.id}`, { json: { networks: ['10.0.0.0/8'] } });
    await expect.poll(() => nurse.client.isClosed).toBe(true);
    expect(await asked()).toBe(401);
    await expect(home.nurse({ token })).rejects.toThrow();
    await home.must('PATCH', `/access-tokens/${token.id}`, { json: { networks: null } });
    expect(await asked()).toBe(200);
  });
});

describe('a reload', () => {
  const escalations = [{ name: 'nurse', afterSeconds: 60 }];

  test('applies webhooks, escalations and drills, and cuts no connection', async ({ own }) => {
    const receivers = await Promise.all(
      [1, 2].map(() => own.keep(WebhookReceiver.start(), (one) => one.stop())),
    );
    const outputs = receivers.map(({ port }, index) => ({
      name: `app-${index}`,
      type: 'webhook',
      url: `http://127.0.0.1:${port}/`,
      secret: WEBHOOK_SECRET,
      topics: ['care-homes/+/devices/+/alarms/+'],
      allowPrivate: true,
    }));
    const taken = () => receivers.map((one) => one.taken.length);
    const home = await own.home({ config: { outputs: outputs.slice(0, 1) } });
    const nurse = await home.nurse({ filters: ['care-homes/+/devices/+/escalations/+'] });
    const device = await home.device();
    await home.record(device, {});
    await expect.poll(taken).toEqual([1, 0]);

    const reload = async (config: object) => {
      await home.gateway.configure(config);
      await home.gateway.reload();
    };
    await reload({ outputs, escalations, drills: [{ at: '03:30', timeZone: 'UTC' }] });
    const [id] = await home.record(device, { kind: 'noise' });
    await expect.poll(taken).toEqual([2, 1]);
    await home.gateway.clock.advance(MINUTE_MS);
    await expect.poll(() => nurse.received.map(({ text }) => JSON.parse(text).id)).toContain(id);

    await reload({ outputs: outputs.slice(1) });
    const [last] = await home.record(device, { kind: 'wandering' });
    await expect.poll(taken).toEqual([2, 2]);
    await home.gateway.clock.advance(2 * MINUTE_MS);
    const listed = (await home.must('GET', '/outputs')).list().map(({ name }) => name);
    expect(listed).toEqual(['app-1']);
    expect(nurse.received.map(({ text }) => JSON.parse(text).id)).not.toContain(last);
    expect(nurse.client.isClosed).toBe(false);
  });

  test('changes nothing while one of its keys has a fault', async ({ own }) => {
    const home = await own.home({ config: { escalations } });
    await home.gateway.configure({ escalations: [], outputs: [{ name: 'app' }] });
    await expect(home.gateway.reload()).rejects.toThrow(/faults?/);
    const nurse = await home.nurse({ filters: ['care-homes/+/devices/+/escalations/+'] });
    await home.record(await home.device(), {});
    await home.gateway.clock.advance(MINUTE_MS);
    await nurse.untilRecords(1);
  });
});

describe('the first administrator', () => {
  test('gets another token by a command; the old one ends, with a record', async ({ own }) => {
    const gateway = await own.gateway({ env: { GATEWAY_ADMIN_TOKEN: undefined } });
    const file = join(gateway.dataDir, 'admin.token');
    const before = (await readFile(file, 'utf8')).trim();
    const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const env = { PATH: process.env['PATH'], GATEWAY_DATA_DIR: gateway.dataDir };
    const run = (...options: string[]) =>
      spawnSync(process.execPath, [program, 'admin-token', ...options], { env, encoding: 'utf8' });
    expect(run().status).toBe(2);
    expect(run('--new')).toMatchObject({ status: 0, stdout: `the new token is in ${file}\n` });
    const after = (await readFile(file, 'utf8')).trim();
    const status = async (token: string) =>
      (await ask(gateway, 'GET', '/access-tokens', { token })).status;
    await expect.poll(() => status(before)).toBe(401);
    const records = await ask(gateway, 'GET', '/audit?resource=admin&order=desc', { token: after });
    expect(records.at('events.0')).toMatchObject({
      action: 'access-token.secret-replaced',
      actor: { type: 'gateway' },
    });
    // While no record can be stored, the old token stays.
    const store = await EmbeddedStore.of(gateway);
    own.onEnd(() => store.close());
    store.freeze();
    expect(run('--new').status).toBe(0);
    await gateway.logged("failed to replace the first administrator's token, retrying");
    expect(await status(after)).toBe(200);
    store.thaw();
    await expect.poll(() => status(after)).toBe(401);
    const last = (await readFile(file, 'utf8')).trim();
    const path = '/audit?resource=admin';
    const kept = await ask(gateway, 'GET', path, { token: last });
    const actions = kept.list('events').map(({ action }) => action);
    // A write that had no answer may have been made, and is made again.
    expect(actions.slice(0, 2)).toEqual(Array(2).fill('access-token.secret-replaced'));

    const configured = { ...env, GATEWAY_ADMIN_TOKEN: 'x'.repeat(20) };
    const refused = spawnSync(process.execPath, [program, 'admin-token', '--new'], {
      env: configured,
      encoding: 'utf8',
    });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('configuration') });
  });
});

describe('the data of one device', () => {
  test('are exported as one document, and erased up to a time, with states and recordings', async ({
    home,
  }) => {
    const [device, other] = [await home.device(), await home.device('Bett 2')];
    const day = (of: number) => new Date(Date.UTC(2026, 0, of)).toISOString();
    const footage = { video: `devices/${device.id}/fall.mp4` };
    const [old, kept] = await home.record(
      device,
      { detectedAt: day(1), footage },
      { detectedAt: day(3), kind: 'noise' },
    );
    const [others] = await home.record(other, { detectedAt: day(1) });
    await home.must('POST', `./alarms/${old}/resolve`, { json: { note: 'Frau Kern, Bett 2' } });
    const manager = (await home.token('manager')).token;
    const path = `./devices/${device.id}`;

    const exported = await home.must('GET', `${path}/export`, { token: manager });
    expect(exported.headers['content-disposition']).toContain(`device-${device.id}.json`);
    expect(exported.json).toMatchObject({
      device: { id: device.id },
      alarms: [{ id: old, note: 'Frau Kern, Bett 2', deliveries: [] }, { id: kept }],
      audit: [{ action: 'device.created' }],
    });

    const erase = (query: string, token = manager) =>
      home.ask('DELETE', `${path}/alarms${query}`, { token });
    expect((await erase('')).status).toBe(400);
    expect((await erase(`?before=${day(2)}`, home.viewer.token)).status).toBe(403);
    expect((await erase(`?before=${day(2)}`)).json).toEqual({ deleted: 1 });
    expect((await erase(`?before=${day(2)}`)).json).toEqual({ deleted: 0 });
    const left = async (of: string) =>
      (await home.must('GET', `./devices/${of}/alarms`)).list('events').map(({ id }) => id);
    expect(await left(device.id)).toEqual([kept]);
    expect(await left(other.id)).toEqual([others]);
    expect((await home.ask('GET', `./alarms/${old}`)).status).toBe(404);
    const store = await home.store();
    const entries = JSON.stringify(await store.redis.xrange('{site}:history', '-', '+'));
    expect(entries).toContain(device.id);
    expect(entries).not.toContain('Frau Kern');
    const [record] = (await home.must('GET', `/audit?resource=${device.id}&order=desc`)).list(
      'events',
    );
    expect(record).toMatchObject({ action: 'alarms.erased', details: { before: day(2) } });
  });

  test('stay while somebody still waits for them, and no others stay', async ({ home }) => {
    const [device, other] = [await home.device(), await home.device('Bett 2')];
    const nurse = await home.nurse({
      isDurable: true,
      filters: [home.filter(device, 'alarms/#')],
    });
    await nurse.leave();
    await home.record(device, {});
    await home.record(other, {});
    const erase = async ({ id }: { readonly id: string }) => {
      const path = `./devices/${id}/alarms?before=2100-01-01T00:00:00Z`;
      return (await home.must('DELETE', path)).at('deleted');
    };
    expect([await erase(device), await erase(other)]).toEqual([0, 1]);
    await nurse.connect();
    await nurse.untilRecords(1);
    await expect.poll(() => erase(device)).toBe(1);
  });
});

describe('discovery for Home Assistant', () => {
  /** The keys that its documentation has for the two components; unknown keys make it refuse a message. */
  const common = {
    name: z.string(),
    unique_id: z.string(),
    state_topic: z.string(),
    value_template: z.string(),
    qos: z.literal(1),
    device: z.strictObject({
      identifiers: z.array(z.string()),
      name: z.string(),
      suggested_area: z.string(),
    }),
    origin: z.strictObject({ name: z.string(), sw_version: z.string() }),
  };
  const schemas = {
    event: z.strictObject({ ...common, event_types: z.array(z.string()) }),
    binary_sensor: z.strictObject({
      ...common,
      device_class: z.literal('connectivity'),
      entity_category: z.literal('diagnostic'),
    }),
  };

  test('announces each device where its viewer sees it, as it is now, and takes it back', async ({
    own,
  }) => {
    const config = { homeAssistant: { discovery: true } };
    const home = await own.home({ config });
    const other = await own.homeAt(home.gateway);
    const device = await home.deviceIn(await home.room('Zimmer 12'), 'Bettmatte');
    await other.device();
    const topic = (component: string, object: string) =>
      `homeassistant/${component}/${device.id}/${object}/config`;
    const viewer = await home.nurse({ filters: ['homeassistant/#'] });
    const seen = () => new Map(viewer.received.map((one) => [one.topic, one.text]));
    await expect
      .poll(() => [...seen().keys()].toSorted())
      .toEqual([topic('event', 'alarm'), topic('binary_sensor', 'status')].toSorted());
    const event = schemas.event.parse(JSON.parse(seen().get(topic('event', 'alarm')) ?? ''));
    schemas.binary_sensor.parse(JSON.parse(seen().get(topic('binary_sensor', 'status')) ?? ''));
    expect(event).toMatchObject({
      state_topic: `care-homes/${home.locationId}/devices/${device.id}/alarms/+`,
      device: { identifiers: [device.id], name: 'Bettmatte', suggested_area: 'Zimmer 12' },
    });
    await home.must('PATCH', `./devices/${device.id}`, { json: { name: 'Bettmatte links' } });
    await expect.poll(() => seen().get(topic('event', 'alarm'))).toContain('Bettmatte links');
    await home.must('DELETE', `./devices/${device.id}`);
    await expect.poll(() => seen().get(topic('event', 'alarm'))).toBe('');
    expect(viewer.received.map((one) => one.topic).join()).not.toContain(other.locationId);

    await home.gateway.stop();
    await home.gateway.configure({});
    await home.gateway.start();
    const later = await other.nurse({ filters: ['homeassistant/#', 'gateway/status'] });
    await expect.poll(() => later.received.map((one) => one.topic)).toEqual(['gateway/status']);
  });
});
