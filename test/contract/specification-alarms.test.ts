import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { Api, type TestDevice } from '../former/clients/api.js';
import { connectDevice } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { answerOf, homeOf, UUID } from './specified-home.js';

/** The customer's interface specification, row by row; docs/reports/specification.md maps tests to rows. */

let gateway: GatewayHere;
let api: Api;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
});

afterAll(() => gateway.remove());

const ask = (method: string, path: string, body?: unknown, as = api) =>
  answerOf(as, method, path, body);
const home = () => homeOf(api);

async function publishAlarms(device: TestDevice, alarms: readonly object[]): Promise<void> {
  const sensor = await connectDevice(gateway, device);
  for (const alarm of alarms) {
    await sensor.publishAsync(`devices/${device.id}/alarms`, JSON.stringify(alarm), { qos: 1 });
  }
  await sensor.endAsync();
}

describe('alarm events', () => {
  it('have id, detectedAt, kind and footage, for every kind', async () => {
    const { device, devicePath } = await home();
    const detectedAt = '2026-11-20T10:00:00.123Z';
    await publishAlarms(
      device,
      ALARM_KINDS.map((kind) => ({ kind, detectedAt })),
    );
    const [status, page] = await ask('GET', `${devicePath}/alarms?order=asc`);
    expect(status).toBe(200);
    const footage = { video: null, audio: null };
    expect(page.nextCursor).toBe(null);
    const byKind = (one: { kind: string }, other: { kind: string }) =>
      one.kind < other.kind ? -1 : 1;
    expect(page.events.toSorted(byKind)).toEqual(
      ALARM_KINDS.map((kind) => ({
        id: UUID,
        detectedAt,
        kind,
        footage,
        state: 'raised',
      })).toSorted(byKind),
    );
  });

  it('are listed by before, after, order and kinds, newest first by default', async () => {
    const { device, devicePath } = await home();
    const at = (minute: number) => `2026-11-20T10:0${minute}:00.000Z`;
    const kinds = ['fall', 'noise', 'fall', 'helpCall', 'fall'];
    await publishAlarms(
      device,
      kinds.map((kind, minute) => ({ kind, detectedAt: at(minute) })),
    );
    const timesOf = async (query: string) => {
      const [, { events }] = await ask('GET', `${devicePath}/alarms?${query}`);
      return events.map(({ detectedAt }: { detectedAt: string }) => detectedAt);
    };
    expect(await timesOf('')).toEqual([4, 3, 2, 1, 0].map(at));
    expect(await timesOf('order=desc')).toEqual([4, 3, 2, 1, 0].map(at));
    expect(await timesOf('order=asc')).toEqual([0, 1, 2, 3, 4].map(at));
    expect(await timesOf(`before=${at(2)}`)).toEqual([1, 0].map(at));
    expect(await timesOf(`after=${at(2)}`)).toEqual([4, 3].map(at));
    expect(await timesOf('kinds=noise,helpCall')).toEqual([3, 1].map(at));
    expect((await ask('GET', `${devicePath}/alarms?kinds=fell`))[0]).toBe(400);
    expect((await ask('GET', `${devicePath}/alarms?order=up`))[0]).toBe(400);
  });

  it('come in pages: 100 by default and at most, from the cursor of the previous page', async () => {
    const { device, devicePath } = await home();
    const alarms = Array.from({ length: 101 }, () => ({ kind: 'noise', id: randomUUID() }));
    await publishAlarms(device, alarms);
    const [, first] = await ask('GET', `${devicePath}/alarms`);
    expect(first.events).toHaveLength(100);
    const cursor = encodeURIComponent(first.nextCursor);
    const [, second] = await ask('GET', `${devicePath}/alarms?cursor=${cursor}`);
    expect([second.events.length, second.nextCursor]).toEqual([1, null]);
    const ids = [...first.events, ...second.events].map(({ id }: { id: string }) => id);
    expect(new Set(ids)).toEqual(new Set(alarms.map(({ id }) => id)));
    const limited = await ask('GET', `${devicePath}/alarms?limit=7`);
    expect(limited[1].events).toHaveLength(7);
    expect((await ask('GET', `${devicePath}/alarms?limit=101`))[0]).toBe(400);
  });
});

describe('custom data', () => {
  it('GET: 200, the stored object; an empty one when there is none', async () => {
    const { device, devicePath } = await home();
    expect(await ask('GET', `${devicePath}/custom-data`)).toEqual([200, {}]);
    await api.setCustomData(device, '{"ref":[1,null]}');
    expect(await ask('GET', `${devicePath}/custom-data`)).toEqual([200, { ref: [1, null] }]);
  });

  it('PATCH: any JSON object of at most 1024 bytes; 200, else 400', async () => {
    const { device, devicePath } = await home();
    const ofLength = (length: number) => JSON.stringify({ x: 'x'.repeat(length - 8) });
    expect(ofLength(1024)).toHaveLength(1024);
    expect((await api.setCustomData(device, ofLength(1024))).status).toBe(200);
    for (const text of [ofLength(1025), '{"x":', '[]', '"x"', '']) {
      expect([text, (await api.setCustomData(device, text)).status]).toEqual([text, 400]);
    }
    expect((await ask('GET', `${devicePath}/custom-data`))[1].x).toHaveLength(1016);
  });
});
