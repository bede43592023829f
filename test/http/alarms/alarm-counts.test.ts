import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());

describe('the counts of alarms', () => {
  const FROM = Date.parse('2026-03-27T23:00:00Z');

  async function counted() {
    const gateway = running();
    const home = await gateway.createLocation();
    const deviceId = await gateway.createDevice(home);
    const raise = (kind: string, ...times: readonly string[]) =>
      gateway.recordAlarms(
        deviceId,
        times.map((time) => ({ kind, detectedAt: `2026-03-${time}:00Z` })),
      );
    await raise('fall', '27T22:59', '27T23:00', '28T22:59', '28T23:00', '29T21:59');
    await gateway.placeInGroup(home, deviceId);
    await raise('fall', '29T21:59', '29T22:00');
    await raise('helpCall', '28T12:00', '29T22:30', '30T22:00');
    const path = `/care-homes/${home}/alarm-counts`;
    return { gateway, home, path };
  }

  it('are by day in a time zone, across a change of its clocks', async () => {
    const { gateway, path } = await counted();
    const range = 'after=2026-03-27T22:59:59.999Z&before=2026-03-30T22:00:00Z';
    const answer = await gateway.admin('GET', `${path}?by=day&timeZone=Europe/Berlin&${range}`);
    const start = (ms: number) => new Date(FROM + ms).toISOString();
    const hours = (count: number) => start(count * 3_600_000);
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        buckets: [
          { start: start(0), counts: { fall: 2, helpCall: 1 } },
          { start: hours(24), counts: { fall: 3 } },
          { start: hours(47), counts: { fall: 1, helpCall: 1 } },
        ],
      },
    ]);
    const exclusive = 'after=2026-03-27T23:00:00Z&before=2026-03-28T22:59:00Z';
    const less = await gateway.admin('GET', `${path}?timeZone=Europe/Berlin&${exclusive}`);
    expect(less.json).toEqual({ buckets: [{ start: start(0), counts: { helpCall: 1 } }] });
  });

  it('are by hour, including hours without alarms', async () => {
    const { gateway, path } = await counted();
    const range = 'after=2026-03-29T20:30:00Z&before=2026-03-29T22:30:00.001Z';
    const { json } = await gateway.admin('GET', `${path}?by=hour&${range}`);
    expect(json).toEqual({
      buckets: [
        { start: '2026-03-29T20:00:00.000Z', counts: {} },
        { start: '2026-03-29T21:00:00.000Z', counts: { fall: 2 } },
        { start: '2026-03-29T22:00:00.000Z', counts: { fall: 1, helpCall: 1 } },
      ],
    });
  });

  it('cover a year by day, 1,000 buckets at most, and the last month by default', async () => {
    const { gateway, path } = await counted();
    const bucketsOf = async (query: string) => {
      const answer = await gateway.admin('GET', `${path}?${query}`);
      return z.object({ buckets: z.array(z.unknown()) }).parse(answer.json).buckets;
    };
    const year = 'after=2025-12-31T23:59:59.999Z&before=2027-01-01T00:00:00Z';
    expect(await bucketsOf(year)).toHaveLength(365);
    const tooMany = await gateway.admin('GET', `${path}?by=hour&${year}`);
    expect(failure(tooMany)).toBe('400 invalid-request');
    expect((await bucketsOf('')).length).toBe(31);
    expect(await bucketsOf('by=hour')).toHaveLength(25);
    expect(await bucketsOf('after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z')).toEqual([]);
    for (const query of ['by=week', 'by=', 'timeZone=Mars/Base', 'timeZone=', 'kinds=fell']) {
      const answer = await gateway.admin('GET', `${path}?${query}`);
      expect(failure(answer), query).toBe('400 invalid-request');
    }
  });

  it('are filtered by kind, place and state', async () => {
    const { gateway, home, path } = await counted();
    const named = z.array(z.looseObject({ id: z.string() }));
    const idOf = async (what: string) => {
      const [first] = named.parse((await gateway.admin('GET', `/care-homes/${home}/${what}`)).json);
      return first?.id ?? '';
    };
    const [group, room, device] = [
      await idOf('groups'),
      await idOf('rooms'),
      await idOf('devices'),
    ];
    const id = await gateway.recordAlarm(device, {
      kind: 'fall',
      detectedAt: '2026-03-29T12:00:00Z',
    });
    await gateway.admin('POST', `/care-homes/${home}/alarms/${id}/resolve`);
    const range = 'after=2026-03-27T22:59:59.999Z&before=2026-03-30T22:00:00Z';
    const all = await countsOf('');
    expect(all).toEqual({ fall: 7, helpCall: 2 });
    expect(await countsOf('kinds=helpCall')).toEqual({ helpCall: 2 });
    expect(await countsOf(`device=${device}`)).toEqual(all);
    expect(await countsOf(`device=${device}&kinds=fall`)).toEqual({ fall: 7 });
    expect(await countsOf(`room=${room}`)).toEqual({ fall: 3, helpCall: 2 });
    expect(await countsOf(`group=${group}`)).toEqual({ fall: 3, helpCall: 2 });
    expect(await countsOf('state=resolved')).toEqual({ fall: 1 });
    expect(await countsOf('state=raised')).toEqual({ fall: 6, helpCall: 2 });
    const many = { kind: 'noise', detectedAt: '2026-03-30T10:00:00Z' };
    await gateway.recordAlarms(device, Array(2_500).fill(many));
    expect(await countsOf(`device=${device}&kinds=noise`)).toEqual({ noise: 2_500 });

    async function countsOf(query: string) {
      const answer = await gateway.admin('GET', `${path}?by=day&${range}&${query}`);
      const body = z.object({
        buckets: z.array(z.object({ counts: z.record(z.string(), z.number()) })),
      });
      const sums: Record<string, number> = {};
      for (const { counts } of body.parse(answer.json).buckets) {
        for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count;
      }
      return sums;
    }
  });

  it('are limited to a group for a grant on that group', async () => {
    const { gateway, home, path } = await counted();
    const groups = await gateway.admin('GET', `/care-homes/${home}/groups`);
    const [group] = z.array(z.looseObject({ id: z.string() })).parse(groups.json);
    const grants = [{ location: home, group: group?.id ?? '', role: 'viewer' as const }];
    const token = await gateway.createToken(grants);
    const range = 'after=2026-03-28T23:00:00Z&before=2026-03-30T00:00:00Z';
    const { json } = await gateway.call('GET', `${path}?${range}&timeZone=Europe/Berlin`, {
      token,
    });
    expect(json).toEqual({
      buckets: [
        { start: new Date(FROM + 24 * 3_600_000).toISOString(), counts: { fall: 1 } },
        { start: new Date(FROM + 47 * 3_600_000).toISOString(), counts: { fall: 1, helpCall: 1 } },
      ],
    });
  });
});
