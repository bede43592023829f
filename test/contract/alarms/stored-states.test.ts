import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api, type TestDevice } from '../../harness/clients/api.js';
import { connectDevice, Subscriber } from '../../harness/clients/mqtt-clients.js';
import { RawClient } from '../../harness/clients/raw-client.js';
import { GatewayProcess } from '../../harness/gateway/gateway-process.js';
import { Home } from '../../harness/home.js';
import { accountOf } from '../../harness/metrics.js';
import { Store } from '../../harness/stored/store.js';

const eventsSchema = z.object({
  events: z.array(z.looseObject({ id: z.string(), state: z.string() })),
});

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

/** Publishes an alarm; it is stored when this resolves. */
async function raise(device: TestDevice, kind = 'fall', at = home): Promise<string> {
  const id = randomUUID();
  const sensor = await connectDevice(at.gateway, device);
  await sensor.publishAsync(`devices/${device.id}/alarms`, JSON.stringify({ kind, id }), {
    qos: 1,
  });
  await sensor.endAsync();
  return id;
}

function textOf(id: string, state: string, note?: string): string {
  return JSON.stringify({ id, state, note });
}

async function statesOf(device: TestDevice, at = home): Promise<Record<string, string>> {
  const path = `/care-homes/${device.locationId}/alarms`;
  const { events } = eventsSchema.parse(await new Api(at.gateway).json('GET', path));
  return Object.fromEntries(events.map(({ id, state }) => [id, state]));
}

describe('guarantee 2: a state', () => {
  let gateway: GatewayProcess;

  beforeAll(async () => {
    gateway = await GatewayProcess.start();
  });

  afterAll(() => gateway.remove());

  it('reaches an absent subscriber after its alarm, across kills of gateway and store, and is in its account', async () => {
    const own = await Home.at(gateway);
    const device = await own.device();
    const session = { clientId: 'nurse', clean: false };
    const nurse = await Subscriber.connect(own.gateway, own.viewer, session);
    await nurse.subscribe(own.filter(device, 'alarms/#'), own.filter(device, 'alarm-states/#'));
    await nurse.end();
    const topic = own.filter(device, 'alarm-states');
    const expected: string[] = [];
    const ids: string[] = [];
    const kills = [
      () => own.gateway.kill(),
      async () => {
        const store = await Store.of(own.gateway);
        store.kill();
        store.close();
        await own.gateway.kill();
      },
    ];
    for (const kill of kills) {
      for (let count = 0; count < 2; count++) {
        const id = await raise(device, 'fall', own);
        const manager = await Subscriber.connect(own.gateway, own.manager);
        for (const state of ['acknowledged', 'resolved']) {
          await manager.client.publishAsync(topic, textOf(id, state), { qos: 1 });
        }
        await manager.end();
        ids.push(id);
        expected.push(...['alarm', 'acknowledged', 'resolved'].map((what) => `${id} ${what}`));
      }
      await kill();
      await own.gateway.start();
    }
    const states = await statesOf(device, own);
    expect(ids.map((id) => states[id])).toEqual(ids.map(() => 'resolved'));
    const count = expected.length;
    const waiting = { accepted: count, delivered: 0, queued: count, expired: 0, dropped: 0 };
    expect(await accountOf(own.gateway, 'nurse', 'alarms')).toEqual(waiting);
    const back = await Subscriber.connect(own.gateway, own.viewer, session);
    await back.untilCount(count);
    expect(back.messages().map(({ id, state = 'alarm' }) => `${id} ${state}`)).toEqual(expected);
    const done = { ...waiting, delivered: count, queued: 0 };
    await expect.poll(() => accountOf(own.gateway, 'nurse', 'alarms')).toEqual(done);
    await back.end();
  });

  it('is acknowledged only once stored, and answered with 503 over HTTP until then', async () => {
    const own = await Home.at(gateway);
    const device = await own.device();
    const id = await raise(device, 'fall', own);
    const store = await Store.of(own.gateway);
    const client = await RawClient.connect(own.gateway, own.manager);
    store.freeze();
    try {
      client.send({
        cmd: 'publish',
        topic: own.filter(device, 'alarm-states'),
        qos: 1,
        messageId: 7,
        payload: textOf(id, 'acknowledged'),
        dup: false,
        retain: false,
      });
      await client.ping();
      const path = `/care-homes/${own.locationId}/alarms/${id}/resolve`;
      const { status } = await own.api.request('POST', path);
      expect(status).toBe(503);
      expect(client.packets.filter(({ cmd }) => cmd === 'puback')).toEqual([]);
    } finally {
      store.thaw();
      store.close();
    }
    expect((await client.next('puback')).messageId).toBe(7);
    expect((await statesOf(device, own))[id]).not.toBe('raised');
    client.vanish();
  });
});
