import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { anOutput } from '../an-output.js';
import type { Answer } from '../client.js';
import { startGateway } from '../harness.js';
import { fill, protectedRoutesOf } from '../routes.js';
import { CHANGES, type Change } from './audit-changes.js';
import { recordsOf } from './audit-pages.js';
import { type World, world } from './audit-world.js';

const redis = useRedis();

function createdId(answer: Answer): string {
  return answer.text === '' ? '' : z.looseObject({ id: z.string() }).parse(answer.json).id;
}

function expected(change: Change, ids: World, path: string, answer: Answer) {
  const resourceId = change.resource === 'created' ? createdId(answer) : ids[change.resource];
  const inPath = path.split('/')[2] ?? null;
  return {
    action: change.action,
    actor: {
      type: 'access-token',
      id: 'admin',
      address: '127.0.0.1',
      requestId: answer.headers['x-request-id'],
    },
    locationId: { created: resourceId, none: null, path: inPath }[change.location ?? 'path'],
    resourceId,
    details: change.details(ids),
  };
}

describe('every route that changes something', () => {
  it('leaves one record with action, actor, address and request id', async () => {
    const gateway = await startGateway(redis, {
      hasLostData: true,
      environment: anOutput('region'),
    });
    for (const { method, path } of protectedRoutesOf()) {
      if (method === 'GET') continue;
      const changes = CHANGES[`${method} ${path}`];
      if (changes === undefined) throw new Error(`What does ${method} ${path} leave?`);
      for (const change of changes) {
        const created = await world(gateway);
        const alarm = { kind: 'fall' };
        const alarmId = path.includes(':alarmId')
          ? await gateway.recordAlarm(created.deviceId, alarm)
          : '';
        if (path.includes('/bridges/')) await gateway.missBridge(created.name);
        const ids = { ...created, alarmId };
        const target = fill(path, { ...ids, ...change.ids?.(ids) });
        const json = change.json?.(ids);
        const answers: Answer[] = [];
        const records = await recordsOf(gateway, async () => {
          const headers = { 'X-Request-Id': `change-${randomUUID()}` };
          answers.push(await gateway.admin(method, target, { json, headers }));
        });
        const [answer] = answers;
        if (answer === undefined) throw new Error('No answer');
        expect(`${method} ${path} ${answer.status < 300}`).toBe(`${method} ${path} true`);
        const { id: _, at, ...rest } = records[0] ?? { id: '', at: '' };
        expect(records.length).toBe(1);
        expect(rest).toEqual(expected(change, ids, target, answer));
        expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(10_000);
        expect(JSON.stringify(records)).not.toContain('Krause');
        for (const secret of secretsIn(answer)) {
          expect(JSON.stringify(records)).not.toContain(secret);
        }
      }
    }
  });

  it('leaves no record when it fails or changes nothing', async () => {
    const gateway = await startGateway(redis);
    const ids = await world(gateway);
    const home = `/care-homes/${ids.locationId}`;
    const device = `${home}/devices/${ids.deviceId}`;
    const failing: [string, string, object | undefined, number][] = [
      ['DELETE', home, undefined, 409],
      ['DELETE', `${home}/rooms/${ids.roomId}`, undefined, 409],
      ['DELETE', `${home}/groups/${ids.groupId}`, undefined, 409],
      ['POST', `${home}/devices`, { name: 'twice', id: ids.deviceId }, 409],
      ['POST', `${home}/rooms`, { name: 'r', groupId: randomUUID() }, 404],
      ['POST', `${device}/move`, { targetRoomId: randomUUID() }, 404],
      ['POST', `${device}/move`, { targetLocationId: ids.locationId }, 204],
      ['PATCH', home, { name: '' }, 400],
      ['DELETE', `/access-tokens/${randomUUID()}`, undefined, 404],
      ['POST', '/faults/store-lost-data/acknowledge', undefined, 404],
    ];
    for (const [method, path, json, status] of failing) {
      const records = await recordsOf(gateway, async () => {
        expect((await gateway.admin(method, path, { json })).status).toBe(status);
      });
      expect([path, records]).toEqual([path, []]);
    }
  });

  it('records the previous name, even for two concurrent changes', async () => {
    const gateway = await startGateway(redis);
    const locationId = await gateway.createLocation('0');
    const names = Array.from({ length: 20 }, (_, index) => String(index + 1));
    const records = await recordsOf(gateway, () =>
      Promise.all(
        names.map((name) =>
          gateway.admin('PATCH', `/care-homes/${locationId}`, { json: { name } }),
        ),
      ),
    );
    const followed = records
      .toSorted((one, other) => Number(one.id) - Number(other.id))
      .map(({ details }) => details);
    let current: unknown = '0';
    for (const { name, previousName } of followed) {
      expect(previousName).toBe(current);
      current = name;
    }
    expect(followed.length).toBe(20);
  });
});

/** The secrets in an answer, which are shown only once. */
function secretsIn({ text }: Answer): string[] {
  const shown = z.looseObject({ secret: z.string().optional(), token: z.string().optional() });
  const parsed = text.startsWith('{') ? shown.parse(JSON.parse(text)) : {};
  return [parsed.secret, parsed.token].filter((secret) => secret !== undefined);
}
