import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { useGateway } from '../harness.js';
import {
  at,
  listedHome,
  page,
  type pageSchema,
  type Query,
  queryOf,
  readAll,
} from './alarm-listing.js';

const running = useGateway(useRedis());

const start = () => listedHome(running());

describe('pages', () => {
  it('have at most `limit` alarms, 100 by default, and list each alarm once', async () => {
    const { gateway, deviceId, ofDevice, ofLocation } = await start();
    // Many with the same time: they must keep a fixed order across pages.
    const alarms = Array.from({ length: 101 }, (_, number) => {
      return { id: randomUUID(), kind: 'fall', detectedAt: at(Math.floor(number / 40)) };
    });
    const recorded = await gateway.recordAlarms(deviceId, alarms);
    expect((await page(gateway, ofDevice)).events).toHaveLength(100);
    expect((await page(gateway, ofDevice, { limit: 100 })).nextCursor).not.toBeNull();
    for (const path of [ofDevice, ofLocation]) {
      for (const limit of [7, 100]) {
        expect(await readAll(gateway, path, { limit, order: 'asc' })).toEqual(recorded);
        expect(await readAll(gateway, path, { limit })).toEqual(recorded.toReversed());
      }
    }
  });

  it('list hundreds of alarms of one moment while earlier, equal and later ones arrive', async () => {
    const { gateway, deviceId, ofDevice, ofLocation } = await start();
    const recorded: { readonly id: string; readonly second: number }[] = [];
    const record = async (seconds: readonly number[]) => {
      const alarms = seconds.map((second, index) => {
        const kind = index % 2 === 0 ? 'fall' : 'noise';
        return { id: randomUUID(), kind, detectedAt: at(second) };
      });
      const ids = await gateway.recordAlarms(deviceId, alarms);
      for (const [index, second] of seconds.entries())
        recorded.push({ id: ids[index] ?? '', second });
    };
    await record([1, 3, ...Array(300).fill(2)]);
    for (const path of [ofDevice, ofLocation]) {
      for (const order of ['asc', 'desc']) {
        const sorted = recorded.toSorted((one, other) => one.second - other.second);
        const expected = (order === 'asc' ? sorted : sorted.toReversed()).map(({ id }) => id);
        const seen: string[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const query: Query = { order, limit: 49, ...(cursor === '' ? {} : { cursor }) };
          const part: z.infer<typeof pageSchema> = await page(gateway, path, query);
          seen.push(...part.events.map(({ id }) => id));
          await record([1, 2, 2, 3]);
          cursor = part.nextCursor;
        }
        expect(seen).toEqual(expected);
      }
    }
  });

  it('end with nextCursor null when the last one is full', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    for (const second of [1, 2]) {
      await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(second) });
    }
    expect((await page(gateway, ofDevice, { limit: 2 })).nextCursor).toBeNull();
    expect((await page(gateway, ofDevice, { limit: 1 })).nextCursor).not.toBeNull();
  });

  it('are unaffected by new alarms, and may change in size', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    const recorded: string[] = [];
    for (let second = 1; second <= 5; second++) {
      recorded.push(
        await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(second * 10) }),
      );
    }
    const first = await page(gateway, ofDevice, { limit: 2, order: 'asc' });
    for (const second of [5, 25, 45, 55]) {
      await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(second) });
    }
    const cursor = first.nextCursor ?? '';
    const rest = await page(gateway, ofDevice, { limit: 99, order: 'asc', cursor });
    expect([...first.events, ...rest.events].map(({ id }) => id)).toEqual(recorded);
    expect(rest.nextCursor).toBeNull();
  });
});

describe('a cursor', () => {
  it('is valid for its own query only', async () => {
    const { gateway, locationId, deviceId, ofDevice, ofLocation } = await start();
    const otherDevice = await gateway.createDevice(locationId);
    for (const second of [1, 2, 3]) {
      await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(second) });
    }
    const query = { limit: 1, order: 'asc', after: at(0), before: at(9), kinds: 'fall,noise' };
    const cursor = (await page(gateway, ofDevice, query)).nextCursor ?? '';
    const ask = (path: string, parameters: Query) =>
      gateway.admin('GET', `${path}?${queryOf(parameters)}`);
    const own = { ...query, cursor };
    // Equal filters, written differently.
    for (const same of [
      { ...own, limit: 50 },
      { ...own, kinds: 'noise,fall,noise' },
      { ...own, after: '2026-01-01T01:00:00+01:00' },
    ]) {
      expect((await ask(ofDevice, same)).status).toBe(200);
    }
    const { kinds: _, ...withoutKinds } = own;
    const changed = [
      [ofDevice, { ...own, order: 'desc' }],
      [ofDevice, { ...own, kinds: 'fall' }],
      [ofDevice, withoutKinds],
      [ofDevice, { ...own, before: at(8) }],
      [ofDevice, { ...own, after: at(1) }],
      [ofDevice, { limit: 1, cursor }],
      [ofLocation, own],
      [ofLocation, { ...own, device: deviceId }],
      [`/care-homes/${locationId}/devices/${otherDevice}/alarms`, own],
    ] as const;
    for (const [path, parameters] of changed) {
      expect(failure(await ask(path, parameters))).toBe('400 invalid-cursor');
    }
  });

  it('is refused when altered or invented', async () => {
    const { gateway, deviceId, ofDevice } = await start();
    for (const second of [1, 2]) {
      await gateway.recordAlarm(deviceId, { kind: 'fall', detectedAt: at(second) });
    }
    const cursor = (await page(gateway, ofDevice, { limit: 1 })).nextCursor ?? '';
    const forged = Buffer.from('{"position":0}').toString('base64url');
    for (const wrong of [
      '',
      'x',
      forged,
      cursor.slice(0, -1),
      `${cursor}=`,
      `${cursor}A`,
      `${cursor}!`,
    ]) {
      const answer = await gateway.admin('GET', `${ofDevice}?limit=1&cursor=${wrong}`);
      expect(`${wrong} ${failure(answer)}`).toBe(`${wrong} 400 invalid-cursor`);
    }
  });
});

describe('a query is refused for', () => {
  const wrong: Readonly<Record<string, string>> = {
    'limit=0': 'limit',
    'limit=101': 'limit',
    'limit=-1': 'limit',
    'limit=1.5': 'limit',
    'limit=1e1': 'limit',
    'limit=': 'limit',
    'limit=ten': 'limit',
    'limit=1&limit=2': 'limit',
    'order=ASC': 'order',
    'order=': 'order',
    'kinds=': 'kinds.0',
    'kinds=fall,': 'kinds.1',
    'kinds=falls': 'kinds.0',
    'kinds=fall&kinds=noise': 'kinds',
    'before=': 'before',
    'before=2026-01-01': 'before',
    'before=2026-01-01T00:00:00': 'before',
    'before=2026-02-30T00:00:00Z': 'before',
    'after=1767225600000': 'after',
    'after=2026-01-01T00:00:00Z&after=2026-01-01T00:00:00Z': 'after',
  };
  it('its limit, order, kinds or times, and names the parameter', async () => {
    const { gateway, ofDevice, ofLocation } = await start();
    for (const [query, path] of Object.entries(wrong)) {
      for (const resource of [ofDevice, ofLocation]) {
        const answer = await gateway.admin('GET', `${resource}?${query}`);
        expect([query, failure(answer)]).toEqual([query, '400 invalid-request']);
        expect([query, problemOf(answer).errors?.map((fault) => fault.path)]).toEqual([
          query,
          [path],
        ]);
      }
    }
  });
});
