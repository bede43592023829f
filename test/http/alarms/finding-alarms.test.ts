import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());

const eventsBody = z.looseObject({
  nextCursor: z.string().nullable(),
  events: z.array(z.looseObject({ id: z.string(), footage: z.unknown() })),
});

/** Two homes; the first has a device in a room of a group, one in a room without a group, and one in no room. */
async function start() {
  const gateway = running();
  const [home, other] = [
    await gateway.createLocation('Birke'),
    await gateway.createLocation('Elm'),
  ];
  const grouped = await gateway.createDevice(home);
  const { groupId, roomId } = await gateway.placeInGroup(home, grouped);
  const inRoom = await gateway.createDevice(home);
  const plainRoomId = await gateway.createRoom(home);
  await gateway.moveDevice(home, inRoom, { targetRoomId: plainRoomId });
  const nowhere = await gateway.createDevice(home);
  const away = await gateway.createDevice(other);
  const alarms = {
    grouped: await gateway.recordAlarm(grouped, { kind: 'fall' }),
    inRoom: await gateway.recordAlarm(inRoom, { kind: 'noise' }),
    nowhere: await gateway.recordAlarm(nowhere, { kind: 'fall' }),
    away: await gateway.recordAlarm(away, { kind: 'fall' }),
  };
  const nameOf = new Map(Object.entries(alarms).map(([name, id]) => [id, name]));
  const listed = async (path: string, token?: string) => {
    const answer = await gateway.admin('GET', path, token === undefined ? {} : { token });
    expect(answer.status, answer.text).toBe(200);
    const { events } = eventsBody.parse(answer.json);
    return events.flatMap(({ id }) => nameOf.get(id) ?? []).toSorted();
  };
  const places = { home, other, groupId, roomId, plainRoomId };
  return { gateway, ...places, grouped, inRoom, nowhere, away, alarms, listed };
}

describe('the alarms of a location', () => {
  it('are found by the room, group and device of the time of the alarm', async () => {
    const { gateway, home, groupId, roomId, plainRoomId, grouped, nowhere, listed } = await start();
    const path = `/care-homes/${home}/alarms`;
    // Alarms stay where they happened.
    await gateway.moveDevice(home, grouped, { targetRoomId: null });
    expect(await listed(`${path}?room=${roomId}`)).toEqual(['grouped']);
    expect(await listed(`${path}?room=${roomId.toUpperCase()},${plainRoomId}`)).toEqual([
      'grouped',
      'inRoom',
    ]);
    expect(await listed(`${path}?group=${groupId}`)).toEqual(['grouped']);
    expect(await listed(`${path}?device=${grouped},${nowhere}`)).toEqual(['grouped', 'nowhere']);
    expect(await listed(`${path}?device=${grouped},${nowhere}&group=${groupId}`)).toEqual([
      'grouped',
    ]);
    expect(await listed(`${path}?room=${roomId}&kinds=noise`)).toEqual([]);
    expect(await listed(`${path}?group=${randomUUID()}`)).toEqual([]);
  });

  it('are filtered by ids only, and a cursor is bound to them', async () => {
    const { gateway, home, groupId, roomId, plainRoomId } = await start();
    const path = `/care-homes/${home}/alarms`;
    for (const name of ['room', 'group', 'device']) {
      for (const value of ['', 'x', `${roomId},`, `${roomId},x`]) {
        const answer = await gateway.admin('GET', `${path}?${name}=${value}`);
        expect(failure(answer), `${name}=${value}`).toBe('400 invalid-request');
      }
    }
    const rooms = `room=${roomId},${plainRoomId}`;
    const first = await gateway.admin('GET', `${path}?${rooms}&limit=1`);
    const { nextCursor } = eventsBody.parse(first.json);
    for (const other of [`room=${roomId}`, `group=${groupId}`, `device=${roomId}`, 'limit=2']) {
      const answer = await gateway.admin('GET', `${path}?${other}&cursor=${nextCursor}`);
      expect(failure(answer), other).toBe('400 invalid-cursor');
    }
    const next = await gateway.admin('GET', `${path}?${rooms}&cursor=${nextCursor}`);
    expect(eventsBody.parse(next.json).events).toHaveLength(1);
  });

  it('are limited to a group for a grant on that group, whatever is requested', async () => {
    const { gateway, home, groupId, roomId, plainRoomId, nowhere, listed } = await start();
    const grants = [{ location: home, group: groupId, role: 'viewer' as const }];
    const token = await gateway.createToken(grants);
    const path = `/care-homes/${home}/alarms`;
    expect(await listed(`${path}?room=${roomId},${plainRoomId}`, token)).toEqual(['grouped']);
    expect(await listed(`${path}?device=${nowhere}`, token)).toEqual([]);
    expect(await listed(`${path}?group=${randomUUID()}`, token)).toEqual([]);
  });
});

describe('the alarms of all locations', () => {
  it('are those covered by the grants, each with its location', async () => {
    const { gateway, home, other, groupId, alarms, listed } = await start();
    const of = (grants: Parameters<typeof gateway.createToken>[0]) => gateway.createToken(grants);
    const all = await of([{ location: '*', role: 'viewer' }]);
    expect(await listed('/alarms', all)).toEqual(['away', 'grouped', 'inRoom', 'nowhere']);
    const some = await of([
      { location: other, role: 'viewer' },
      { location: home, group: groupId, role: 'viewer' },
    ]);
    expect(await listed('/alarms?kinds=fall', some)).toEqual(['away', 'grouped']);
    expect(await listed('/alarms', await of([{ location: home, role: 'publisher' }]))).toEqual([]);

    const { json } = await gateway.call('GET', '/alarms?limit=1', { token: some });
    const [newest] = eventsBody.parse(json).events;
    expect(newest).toMatchObject({ id: alarms.away, location: { id: other, name: 'Elm' } });
    expect(failure(await gateway.call('GET', '/alarms'))).toBe('401 unauthenticated');
  });

  it('are paged in one order, and available as CSV with their location', async () => {
    const { gateway, home, other, alarms } = await start();
    const token = await gateway.createToken([
      { location: home, role: 'viewer' },
      { location: other, role: 'viewer' },
    ]);
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const path = `/alarms?limit=1&order=asc${query}`;
      const part = eventsBody.parse((await gateway.call('GET', path, { token })).json);
      ids.push(...part.events.map(({ id }) => id));
      cursor = part.nextCursor;
      if (cursor === null) break;
      const elsewhere = `/care-homes/${home}/alarms?limit=1&order=asc&cursor=${cursor}`;
      expect(failure(await gateway.call('GET', elsewhere, { token }))).toBe('400 invalid-cursor');
    }
    expect(ids).toEqual(Object.values(alarms));
    const csv = await gateway.call('GET', '/alarms', { token, headers: { Accept: 'text/csv' } });
    const [header, ...lines] = csv.text.trimEnd().split('\r\n');
    expect(header).toMatch(/^locationId,locationName,id,kind,/);
    expect(lines.map((line) => line.split(',').slice(0, 3).join())).toContain(
      `${other},Elm,${alarms.away}`,
    );
    expect(lines).toHaveLength(4);
  });
});

describe('an alarm', () => {
  it('is found by its id, and looks as it does in the list', async () => {
    const { gateway, home, other, alarms } = await start();
    const path = `/care-homes/${home}/alarms`;
    const { json } = await gateway.admin('GET', `${path}?kinds=noise`);
    const found = await gateway.admin('GET', `${path}/${alarms.inRoom.toUpperCase()}`);
    expect([found.status, found.json]).toEqual([200, eventsBody.parse(json).events[0]]);
    for (const [locationId, alarmId] of [
      [home, randomUUID()],
      [home, alarms.away],
      [other, alarms.inRoom],
    ]) {
      const answer = await gateway.admin('GET', `/care-homes/${locationId}/alarms/${alarmId}`);
      expect(failure(answer)).toBe('404 alarm-not-found');
    }
    expect(failure(await gateway.admin('GET', `${path}/x`))).toBe('400 invalid-request');
    await gateway.admin('POST', `${path}/${alarms.inRoom}/resolve`);
    const resolved = await gateway.admin('GET', `${path}/${alarms.inRoom}`);
    expect(resolved.json).toMatchObject({ state: 'resolved' });
  });

  it('is shown to a grant on a group only if it was raised there', async () => {
    const { gateway, home, groupId, alarms } = await start();
    const grants = [{ location: home, group: groupId, role: 'viewer' as const }];
    const token = await gateway.createToken(grants);
    const asked = (id: string) =>
      gateway.call('GET', `/care-homes/${home}/alarms/${id}`, { token });
    expect((await asked(alarms.grouped)).status).toBe(200);
    expect(failure(await asked(alarms.inRoom))).toBe('403 forbidden');
    expect(failure(await asked(randomUUID()))).toBe('403 forbidden');
  });

  it('lists its recordings on request, without an audit record', async () => {
    const { gateway, home, nowhere } = await start();
    const footage = { video: `${nowhere}/video/x.mp4` };
    const id = await gateway.recordAlarm(nowhere, { kind: 'fall', footage });
    const path = `/care-homes/${home}/alarms`;
    const noted = async () => {
      const audit = await gateway.admin('GET', '/audit?actions=footage.url-made');
      return audit.text.split(nowhere).length;
    };
    const before = await noted();
    const list = await gateway.admin('GET', `${path}?footage=list`);
    const shown = eventsBody.parse(list.json).events;
    expect(shown.map((event) => event.footage).toSorted()).toEqual([[], [], [], ['video']]);
    const one = await gateway.admin('GET', `${path}/${id}?footage=list`);
    expect(one.json).toMatchObject({ id, footage: ['video'] });
    expect(await noted()).toBe(before);
    expect(failure(await gateway.admin('GET', `${path}?footage=urls`))).toBe('400 invalid-request');
    const signed = await gateway.admin('GET', `${path}/${id}`);
    expect(signed.json).toMatchObject({ footage: { video: expect.any(String), audio: null } });
    expect(await noted()).toBeGreaterThan(before);
  });
});
