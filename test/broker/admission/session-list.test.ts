import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { Home } from '../../former/home.js';

const sessionSchema = z.looseObject({ clientId: z.string() });
const sessionsSchema = z.object({ total: z.number(), sessions: z.array(sessionSchema) });

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

async function sessions(query = '') {
  return sessionsSchema.parse(await home.api.json('GET', `/sessions${query}`));
}

/** A persistent session of the viewer, connected. */
async function connected(clientId: string, token: TestToken = home.viewer): Promise<Subscriber> {
  const nurse = await Subscriber.connect(home.gateway, token, { clientId, clean: false });
  return nurse.subscribe('care-homes/+/devices/+/#');
}

async function sendAlarm(device: TestDevice): Promise<void> {
  const client = await connectDevice(home.gateway, device);
  await client.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
  await client.endAsync();
}

describe('GET /sessions', () => {
  it('shows for whom alarms wait, since when they have been away, and how old the oldest alarm is', async () => {
    const device = await home.device();
    const here = await connected('here');
    const away = await connected('away');
    await away.end();
    const sentAtMs = Date.now();
    await sendAlarm(device);
    await here.until((all) => all.some(({ topic }) => topic.endsWith('/alarms/fall')));
    const { total, sessions: shown } = await sessions();
    expect(total).toBe(2);
    expect(shown.map(({ clientId }) => clientId)).toEqual(['away', 'here']);
    const [first, second] = shown;
    expect(first).toMatchObject({
      connected: false,
      principal: { type: 'access-token', id: home.viewer.id },
      backlog: { alarms: 1 },
    });
    const oldestMs = Date.parse(String(first?.['oldestQueuedAt']));
    expect(Math.abs(oldestMs - sentAtMs)).toBeLessThan(10_000);
    expect(Date.parse(String(first?.['awaySince']))).toBeLessThanOrEqual(oldestMs);
    expect(second).toMatchObject({ connected: true, awaySince: null });
    await here.end();
  });

  it('shows at most the requested number, and no clean session', async () => {
    const clean = await Subscriber.connect(home.gateway, home.viewer, { clientId: 'clean' });
    await clean.subscribe('care-homes/+/devices/+/#');
    const first = await sessions('?limit=1');
    expect(first.sessions).toHaveLength(1);
    const all = await sessions();
    expect(all.total).toBe(first.total);
    expect(all.sessions.map(({ clientId }) => clientId)).not.toContain('clean');
    await clean.end();
  });
});
