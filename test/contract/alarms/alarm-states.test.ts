import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestToken } from '../../former/clients/api.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { raise, statesOf, textOf } from './raised-alarms.js';

let home: Home;
let responder: TestToken;

beforeAll(async () => {
  home = await Home.start();
  responder = await home.api.createToken(
    [{ location: home.locationId, role: 'responder' }],
    'Night shift',
  );
});

afterAll(() => home.remove());

describe('a state that a responder publishes', () => {
  it.each([0, 1, 2] as const)(
    'at QoS %i is stored and forwarded once, separately from the alarms',
    async (qos) => {
      const device = await home.device();
      await home.api.setCustomData(device, '{"ref":12345678901234567890}');
      const nurse = await home.nurse(device, 'alarms/#', 'alarm-states/#');
      const alarmsOnly = await home.nurse(device, 'alarms/#');
      const id = await raise(home.gateway, device, 'helpCall');
      await home.api.setCustomData(device, '{"ref":2}');
      const topic = home.filter(device, 'alarm-states');
      const client = await Subscriber.connect(home.gateway, responder);
      for (let time = 0; time < 2; time++) {
        await client.client.publishAsync(topic, textOf(id, 'acknowledged', ' coming '), { qos });
      }
      await nurse.untilCount(2);
      await raise(home.gateway, device, 'fall');
      await nurse.untilCount(3);
      const [, forwarded] = nurse.received;
      expect(forwarded).toMatchObject({ qos: 1, retain: false, dup: false });
      expect(forwarded?.topic).toBe(home.filter(device, 'alarm-states/helpCall'));
      expect(nurse.received.map(({ topic }) => topic.split('/').at(-1))).toEqual([
        'helpCall',
        'helpCall',
        'fall',
      ]);
      // The alarm's own custom data, unchanged by a parser.
      expect(forwarded?.text).toContain('"customData":{"ref":12345678901234567890}');
      expect(nurse.messages('alarm-states')[0]).toMatchObject({
        id,
        kind: 'helpCall',
        state: 'acknowledged',
        note: 'coming',
        by: { id: responder.id, name: 'Night shift' },
      });
      await alarmsOnly.untilCount(2);
      expect(alarmsOnly.messages('alarm-states')).toEqual([]);
      expect((await statesOf(home.gateway, device))[id]).toBe('acknowledged');
      await Promise.all([nurse.end(), alarmsOnly.end(), client.end()]);
    },
  );

  it('is acknowledged, counted and reported when unusable, and the connection stays open', async () => {
    const [device, other] = [await home.device(), await home.device()];
    const [id, ofOther] = [await raise(home.gateway, device), await raise(home.gateway, other)];
    const nurse = await home.nurse(device, 'rejected', 'alarm-states/#');
    const sensor = await RawClient.connect(home.gateway, device);
    await sensor.subscribe([`devices/${device.id}/rejected`]);
    const client = await RawClient.connect(home.gateway, responder);
    const topic = home.filter(device, 'alarm-states');
    const cases: [string, string][] = [
      ['{"id":', 'not-json'],
      ['[]', 'not-an-object'],
      [textOf(id, 'raised'), 'invalid-alarm-state'],
      [textOf('7', 'resolved'), 'invalid-alarm-state'],
      [textOf(id, 'resolved', 'a\nb'), 'invalid-alarm-state'],
      [textOf(randomUUID(), 'resolved'), 'unknown-alarm'],
      [textOf(ofOther, 'resolved'), 'unknown-alarm'],
      [`{"x":"${'x'.repeat(17 * 1024)}"}`, 'payload-too-large'],
    ];
    for (const [text] of cases) await client.publish(topic, text, 1);
    await client.publish(topic, textOf(id, 'resolved'), 1);
    await client.publish(topic, textOf(id, 'acknowledged'), 1);
    await nurse.untilCount(cases.length + 2);
    expect(nurse.messages('rejected').map(({ reason }) => reason)).toEqual([
      ...cases.map(([, reason]) => reason),
      'alarm-resolved',
    ]);
    await client.ping();
    // The device hears nothing: it is not the device's own message.
    await sensor.ping();
    expect(sensor.packets.filter(({ cmd }) => cmd === 'publish')).toEqual([]);
    for (const one of [client, sensor]) one.vanish();
    await nurse.end();
  });

  it('is acknowledged and dropped when its sender is not permitted to set it', async () => {
    const device = await home.device();
    const id = await raise(home.gateway, device);
    const { id: elsewhere } = await home.api.createLocation('Elsewhere');
    const stranger = await home.api.createToken([{ location: elsewhere, role: 'manager' }]);
    for (const token of [home.viewer, stranger]) {
      const client = await RawClient.connect(home.gateway, token);
      await client.publish(home.filter(device, 'alarm-states'), textOf(id, 'resolved'), 1);
      client.vanish();
    }
    expect((await statesOf(home.gateway, device))[id]).toBe('raised');
  });

  it('may be about an alarm with half of a surrogate pair in the custom data, recorded once', async () => {
    const device = await home.device();
    await home.api.setCustomData(device, '{"note":"cut \\ud83d"}');
    const id = await raise(home.gateway, device);
    await home.publish(device, 'alarms', [JSON.stringify({ kind: 'fall', id })]);
    const path = `/care-homes/${home.locationId}/alarms/${id}`;
    expect(await home.api.json('GET', path)).toMatchObject({ id });
    expect(await home.api.json('POST', `${path}/acknowledge`, {})).toMatchObject({ id });
    const listed = `/care-homes/${home.locationId}/alarms?device=${device.id}`;
    expect(await home.api.json('GET', listed)).toMatchObject({
      events: [{ id, state: 'acknowledged' }],
    });
  });

  it('is governed by the group at the time of the alarm', async () => {
    const device = await home.device();
    const group = await home.group('A');
    const move = { targetRoomId: await home.room('1', group) };
    const outside = await raise(home.gateway, device);
    await home.api.json('POST', `${home.path}/devices/${device.id}/move`, move);
    const inside = await raise(home.gateway, device);
    const grants = [{ location: home.locationId, group, role: 'responder' }];
    const ofGroup = await home.api.createToken(grants);
    const nurse = await Subscriber.connect(home.gateway, ofGroup);
    await nurse.subscribe(home.filter(device, 'alarm-states/#'));
    const topic = home.filter(device, 'alarm-states');
    for (const id of [outside, inside]) {
      await nurse.client.publishAsync(topic, textOf(id, 'acknowledged'), { qos: 1 });
      // The group's nurses hear nothing about the first one.
      const { client } = await Subscriber.connect(home.gateway, home.manager);
      await client.publishAsync(topic, textOf(id, 'resolved'), { qos: 1 });
      await client.endAsync();
    }
    await nurse.untilCount(2);
    expect(nurse.messages().map(({ id, state }) => [id, state])).toEqual([
      [inside, 'acknowledged'],
      [inside, 'resolved'],
    ]);
    await nurse.end();
  });

  it('never disturbs the connection, whatever its content', async () => {
    const device = await home.device();
    const id = await raise(home.gateway, device);
    const client = await RawClient.connect(home.gateway, responder);
    const anyText = fc.string({ unit: fc.nat(0x10ffff).map((one) => String.fromCodePoint(one)) });
    const text = fc.oneof(
      fc.json(),
      anyText,
      fc
        .record(
          {
            id: fc.oneof(fc.constant(id), fc.uuid(), fc.anything()),
            state: fc.oneof(fc.constantFrom('acknowledged', 'raised', '__proto__'), fc.anything()),
            note: fc.oneof(anyText, fc.anything()),
          },
          { requiredKeys: [] },
        )
        .map((fields) => JSON.stringify(fields) ?? 'null'),
    );
    const bytes = fc.oneof(
      text.map((one) => Buffer.from(one)),
      fc.uint8Array({ maxLength: 100 }).map((one) => Buffer.from(one)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (payload) => {
        await client.publish(home.filter(device, 'alarm-states'), payload, 1);
      }),
      { numRuns: 100 },
    );
    await client.publish(home.filter(device, 'alarm-states'), textOf(id, 'resolved'), 1);
    expect((await statesOf(home.gateway, device))[id]).toBe('resolved');
    client.vanish();
  });
});

it('a test alarm reaches everyone as an alarm of the device, marked as a test', async () => {
  const device = await home.device();
  const nurse = await home.nurse(device, 'alarms/#');
  const path = `/care-homes/${home.locationId}/devices/${device.id}/test-alarm`;
  const { id } = z
    .object({ id: z.string() })
    .parse(await home.api.json('POST', path, { kind: 'helpCall' }));
  await nurse.untilCount(1);
  expect(nurse.messages()).toMatchObject([
    { id, kind: 'helpCall', data: { test: true }, device: { id: device.id } },
  ]);
  expect((await statesOf(home.gateway, device))[id]).toBe('raised');
  await nurse.end();
});
