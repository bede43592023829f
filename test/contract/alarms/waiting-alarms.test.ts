import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { unusedPort } from '../../former/servers/unused-port.js';
import { startGateway, type TestGateway } from '../../http/harness.js';

const redis = useRedis();
const MINUTE_MS = 60_000;

const faultsBody = z.looseObject({
  faults: z.array(
    z.looseObject({ code: z.string(), since: z.string(), subject: z.unknown().optional() }),
  ),
});

async function waiting(gateway: TestGateway) {
  const { json } = await gateway.admin('GET', '/readyz');
  return faultsBody.parse(json).faults.filter(({ code }) => code === 'alarms-waiting');
}

async function start(environment: Record<string, string> = {}) {
  const gateway = await startGateway(redis, { environment });
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const viewer = await gateway.issueToken([{ location: locationId, role: 'viewer' }], 'nurse call');
  const open = async (isAcknowledging = true) => {
    const client = await connect(gateway.running, {
      username: viewer.id,
      password: viewer.token,
      clientId: 'station-1',
      clean: false,
    });
    if (!isAcknowledging) client.handleMessage = () => undefined;
    await client.subscribeAsync(`care-homes/${locationId}/devices/+/alarms/#`, { qos: 1 });
    return client;
  };
  return { gateway, deviceId, open };
}

describe('the fault alarms-waiting', () => {
  it.each([
    ['is away', false],
    ['is connected and acknowledges nothing', true],
  ])(
    'names a nurse call that %s, since its oldest alarm, until it has it',
    async (_, isConnected) => {
      const { gateway, deviceId, open } = await start();
      const client = await open(false);
      if (!isConnected) await client.endAsync();
      const beforeMs = Date.now();
      await gateway.recordAlarm(deviceId, { kind: 'fall' });
      gateway.aheadMs += MINUTE_MS;
      await eventually(async () => {
        const subject = { type: 'session', id: 'station-1', name: 'station-1' };
        expect(await waiting(gateway)).toMatchObject([{ code: 'alarms-waiting', subject }]);
      });
      const [fault] = await waiting(gateway);
      // Since the alarm, not since a minute later.
      expect(Date.parse(fault?.since ?? '') - beforeMs).toBeLessThan(MINUTE_MS / 2);
      if (isConnected) await client.endAsync(true);
      const back = await open();
      await eventually(async () => expect(await waiting(gateway)).toEqual([]));
      await back.endAsync();
    },
  );

  it('names a bridge and a webhook whose other side is down', async () => {
    const port = await unusedPort();
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const url = `http://127.0.0.1:${port}/`;
    const topics = ['care-homes/+/devices/+/alarms/#'];
    const webhook = { name: 'app', type: 'webhook', url, secret, topics, allowPrivate: true };
    const { gateway, deviceId } = await start({
      GATEWAY_BRIDGES: JSON.stringify([{ name: 'region', url: `mqtt://127.0.0.1:${port}` }]),
      GATEWAY_OUTPUTS: JSON.stringify([webhook]),
    });
    await gateway.recordAlarm(deviceId, { kind: 'fall' });
    gateway.aheadMs += MINUTE_MS;
    await eventually(async () => {
      const subjects = (await waiting(gateway)).map(({ subject }) => subject);
      expect(subjects).toHaveLength(2);
      expect(subjects).toMatchObject(
        expect.arrayContaining([
          { type: 'bridge', id: 'region', name: 'region' },
          { type: 'webhook', id: 'app', name: 'app' },
        ]),
      );
    });
  });
});
