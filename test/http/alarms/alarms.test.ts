import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ALARM_KINDS } from '../../../src/domain/alarms.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { useGateway } from '../harness.js';
import { at, listedHome, page, pageSchema, type Query, readAll } from './alarm-listing.js';

const running = useGateway(useRedis());

const start = () => listedHome(running());

describe('the alarms of a device', () => {
  it('have the form of the specification', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    expect(await page(gateway, ofDevice)).toEqual({ nextCursor: null, events: [] });
    const detectedAt = '2026-01-01T01:02:03.456+01:00';
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt });
    const footage = { video: null, audio: null };
    expect(await page(gateway, ofDevice)).toEqual({
      nextCursor: null,
      events: [
        { id, detectedAt: '2026-01-01T00:02:03.456Z', kind: 'fall', footage, state: 'raised' },
      ],
    });
  });

  it('are listed newest first or oldest first', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    const ids: string[] = [];
    for (const second of [2, 1, 3]) {
      ids[second - 1] = await gateway.recordAlarm(deviceId, {
        kind: 'fall',
        detectedAt: at(second),
      });
    }
    expect(await readAll(gateway, ofDevice, { order: 'asc' })).toEqual(ids);
    expect(await readAll(gateway, ofDevice, { order: 'desc' })).toEqual(ids.toReversed());
    expect(await readAll(gateway, ofDevice, {})).toEqual(ids.toReversed());
  });

  it('are filtered by kind and by time, both bounds exclusive', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    const ids: Record<string, string> = {};
    for (const [index, kind] of ALARM_KINDS.entries()) {
      ids[kind] = await gateway.recordAlarm(deviceId, { kind, detectedAt: at(index) });
    }
    const [first = '', second = '', third = ''] = Object.values(ids);
    const between = { order: 'asc', after: at(0), before: at(3) };
    expect(await readAll(gateway, ofDevice, between)).toEqual([second, third]);
    expect(await readAll(gateway, ofDevice, { before: at(1) })).toEqual([first]);
    const kinds = { kinds: 'fall,outOfBed,fall' };
    expect(await readAll(gateway, ofDevice, kinds)).toEqual([ids['fall'], ids['outOfBed']]);
    expect(await readAll(gateway, ofDevice, { before: at(1), after: at(1) })).toEqual([]);
  });

  it('accept times with any offset, its plus sign escaped or not', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(0) });
    const queries = [
      'before=2026-01-01T01:00:01%2B01:00',
      'before=2026-01-01T01:00:01+01:00',
      'before=2025-12-31t23:00:01.5-01:00',
      'before=2026-01-01T00:00:01z',
      'after=2026-01-01T00:59:59.999%2B01:00',
    ];
    for (const query of queries) {
      const answer = await gateway.admin('GET', `${ofDevice}?${query}`);
      expect([query, answer.status]).toEqual([query, 200]);
      expect(pageSchema.parse(answer.json).events.map((event) => event.id)).toEqual([id]);
    }
    const excluded = `${ofDevice}?before=2026-01-01T01:00:00+01:00`;
    expect(pageSchema.parse((await gateway.admin('GET', excluded)).json).events).toEqual([]);
  });

  it('accept times finer than a millisecond', async () => {
    const { gateway, deviceId, ofDevice, ofLocation } = await start();
    const detectedAt = '2026-01-01T00:00:00.123Z';
    const id = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt });
    const cases: [Query, string[]][] = [
      [{ before: '2026-01-01T00:00:00.1239Z' }, [id]],
      [{ before: '2026-01-01T01:00:00.123001+01:00' }, [id]],
      [{ before: '2026-01-01T00:00:00.123000Z' }, []],
      [{ before: '2026-01-01T00:00:00.1229Z' }, []],
      [{ after: '2026-01-01T00:00:00.1229Z' }, [id]],
      [{ after: '2026-01-01T00:00:00.123000Z' }, []],
      [{ after: '2026-01-01T00:00:00.1239Z' }, []],
    ];
    for (const path of [ofDevice, ofLocation]) {
      for (const [query, expected] of cases) {
        expect([query, await readAll(gateway, path, query)]).toEqual([query, expected]);
      }
    }
  });

  it('show newly signed footage URLs, and null without footage', async () => {
    const { gateway, deviceId, ofDevice, ofLocation } = await start();
    const video = `devices/${deviceId}/1.mp4`;
    await gateway.recordAlarm(deviceId, { kind: 'fall', footage: { video } });
    const url = `http://127.0.0.1:${gateway.port}/footage/${video}?`;
    const footage = { video: expect.stringContaining(url), audio: null };
    for (const path of [ofDevice, ofLocation]) {
      expect((await page(gateway, path)).events).toEqual([expect.objectContaining({ footage })]);
    }
  });

  it('require the device to be in the location', async () => {
    const { gateway, locationId, deviceId, ofDevice } = await start();
    await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${deviceId}`);
    expect(failure(await gateway.admin('GET', ofDevice))).toBe('404 device-not-found');
  });
});

describe('the alarms of a location', () => {
  it('are those of all its devices, deleted ones included, with device and room', async () => {
    const { gateway, locationId, deviceId, ofLocation } = await start();
    const other = await gateway.createDevice(locationId);
    const elsewhere = await gateway.createDevice(await gateway.createLocation());
    const one = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(1) });
    const { roomId } = await gateway.placeInGroup(locationId, other);
    const two = await gateway.recordAlarm(other, { kind: 'noise', detectedAt: at(2) });
    await gateway.recordAlarm(elsewhere, { kind: 'fall', detectedAt: at(3) });
    await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${deviceId}`);
    expect((await page(gateway, ofLocation)).events).toEqual([
      expect.objectContaining({ id: two, deviceId: other, roomId }),
      expect.objectContaining({ id: one, deviceId, roomId: null }),
    ]);
  });

  it('show names, place, data and custom data as they were at the alarm, with JSON texts unchanged', async () => {
    const { gateway, locationId, deviceId, ofLocation } = await start();
    const devicePath = `/care-homes/${locationId}/devices/${deviceId}`;
    const setCustomData = (body: string) =>
      gateway.admin('PATCH', `${devicePath}/custom-data`, {
        body,
        headers: { 'Content-Type': 'application/json' },
      });
    const bare = await gateway.recordAlarm(deviceId, { kind: 'noise', detectedAt: at(1) });
    const { groupId, roomId } = await gateway.placeInGroup(locationId, deviceId);
    await setCustomData('{"phone": 9007199254740993, "rate":1.10,"__proto__":{"b":1,"a":2}}');
    const text = `{"kind":"fall","detectedAt":"${at(2)}","serial":18446744073709551615,"level":0.50}`;
    const full = await gateway.recordAlarm(deviceId, text);
    await setCustomData('{}');
    await gateway.admin('PATCH', devicePath, { json: { name: 'Bett 2' } });
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: null });

    const { events } = await page(gateway, ofLocation);
    const device = { id: deviceId, name: 'Bett 1' };
    const room = { id: roomId, name: 'Zimmer 1' };
    const group = { id: groupId, name: 'Station 1' };
    expect(events).toMatchObject([
      { id: full, deviceId, roomId, device, room, group, receivedAt: expect.any(String) },
      { id: bare, deviceId, roomId: null, device, room: null, group: null, data: null },
    ]);
    expect(events[1]).toMatchObject({ customData: {} });
    const answer = await gateway.admin('GET', ofLocation);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toContain('"data":{"serial":18446744073709551615,"level":0.50},');
    expect(answer.text).toContain(
      '"customData":{"phone": 9007199254740993, "rate":1.10,"__proto__":{"b":1,"a":2}}}',
    );
  });

  it('fill the pages of a group with the alarms raised in it', async () => {
    const { gateway, locationId, deviceId, ofLocation } = await start();
    const outside = await gateway.createDevice(locationId);
    const { groupId: group, roomId } = await gateway.placeInGroup(locationId, deviceId);
    const expected: string[] = [];
    for (let second = 0; second < 6; second++) {
      const alarm = { kind: 'fall', detectedAt: at(second) };
      if (second % 3 === 0) expected.push(await gateway.recordAlarm(deviceId, alarm));
      else await gateway.recordAlarm(outside, alarm);
    }
    // Alarms after a device has left the group, and after another has entered it.
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: null });
    await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(10) });
    await gateway.moveDevice(locationId, outside, { targetRoomId: roomId });
    expected.push(await gateway.recordAlarm(outside, { kind: 'fall', detectedAt: at(11) }));
    const token = await gateway.createToken([{ location: locationId, group, role: 'viewer' }]);
    const first = await page(gateway, ofLocation, { limit: 2 }, token);
    const cursor = first.nextCursor ?? '';
    const second = await page(gateway, ofLocation, { limit: 2, cursor }, token);
    const pages = [first, second].map(({ events }) => events.map(({ id }) => id));
    expect(pages).toEqual([expected.toReversed().slice(0, 2), expected.toReversed().slice(2)]);
    expect(second.nextCursor).toBeNull();
    const ofOutside = `/care-homes/${locationId}/devices/${outside}/alarms`;
    expect((await page(gateway, ofOutside, {}, token)).events).toHaveLength(1);
  });

  it('are those of one device when filtered, within the groups of the token, even after its deletion', async () => {
    const { gateway, locationId, deviceId, ofLocation } = await start();
    const other = await gateway.createDevice(locationId);
    const before = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(1) });
    const { groupId: group } = await gateway.placeInGroup(locationId, deviceId);
    await gateway.recordAlarm(other, { kind: 'fall', detectedAt: at(2) });
    const after = await gateway.recordAlarm(deviceId, { kind: 'noise', detectedAt: at(3) });
    const query = { device: deviceId, limit: 1 };
    const ofGroup = await gateway.createToken([{ location: locationId, group, role: 'viewer' }]);
    const seen = await page(gateway, ofLocation, query, ofGroup);
    expect(seen.events.map(({ id }) => id)).toEqual([after]);
    await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${deviceId}`);
    expect(await readAll(gateway, ofLocation, query)).toEqual([after, before]);
    expect(await readAll(gateway, ofLocation, { ...query, kinds: 'fall' })).toEqual([before]);
    expect(await readAll(gateway, ofLocation, { device: randomUUID() })).toEqual([]);
    const wrong = await gateway.admin('GET', `${ofLocation}?device=bed`);
    expect(problemOf(wrong).errors?.map(({ path }) => path)).toEqual(['device']);
  });

  it('stay in their location when the device moves', async () => {
    const { gateway, locationId, deviceId, ofLocation } = await start();
    const next = await gateway.createLocation();
    const before = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(1) });
    await gateway.moveDevice(locationId, deviceId, { targetLocationId: next });
    const after = await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(2) });
    const idsOf = async (path: string, token: string) =>
      (await page(gateway, path, {}, token)).events.map(({ id }) => id);
    const [old, young] = [
      await gateway.createToken([{ location: locationId, role: 'viewer' }]),
      await gateway.createToken([{ location: next, role: 'viewer' }]),
    ];
    expect(await idsOf(ofLocation, old)).toEqual([before]);
    expect(await idsOf(`/care-homes/${next}/alarms`, young)).toEqual([after]);
    expect(await idsOf(`/care-homes/${next}/devices/${deviceId}/alarms`, young)).toEqual([after]);
  });
});
