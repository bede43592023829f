/** What whoever looks after a box gets: a dead man's call, and changes without a restart (contract 6). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, type Own, test } from '../harness/index.js';
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
