import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice } from '../../former/clients/api.js';
import { connectDevice } from '../../former/clients/mqtt-clients.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

const lineSchema = z.looseObject({ msg: z.string(), repeated: z.number().optional() });
type Line = z.infer<typeof lineSchema>;

const TIMES = 60;
const FLOODS = {
  'invalid publish': async () => {
    const sensor = await connectDevice(home.gateway, device);
    const publishes = Array.from({ length: TIMES }, () =>
      sensor.publishAsync(`devices/${device.id}/alarms`, 'no JSON', { qos: 1 }),
    );
    await Promise.all(publishes);
    await sensor.endAsync();
  },
  'subscription denied': async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    for (let time = 1; time <= TIMES; time++) await nurse.subscribe([`elsewhere/${time}`]);
    nurse.vanish();
  },
  'permission denied': async () => {
    for (let time = 1; time <= TIMES; time++) {
      const clientId = `publisher ${time}`;
      const nurse = await RawClient.connect(home.gateway, home.viewer, { clientId });
      nurse.send(publishPacket(`elsewhere/${time}`, 'x'));
      await nurse.ping();
      nurse.vanish();
    }
  },
  'connection ended': async () => {
    for (let time = 1; time <= TIMES; time++) {
      const sensor = await RawClient.connect(home.gateway, device, { clientId: `broken ${time}` });
      sensor.stream.write(Buffer.from([0x40, 0]));
      await sensor.closed();
    }
  },
  'connect error': async () => {
    for (let time = 1; time <= TIMES; time++) {
      const client = await RawClient.open(home.gateway);
      const who = { ...credentials(device), clientId: `${time}`.padStart(300, 'x') };
      client.send(connectPacket(who));
      await client.closed();
    }
  },
  'http request': async () => {
    for (let time = 1; time <= TIMES; time++) {
      const path = `${home.gateway.httpUrl}/care-homes?x=${time}`;
      await (await fetch(path, { method: 'POST' })).arrayBuffer();
    }
  },
} as const;

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

function lines(message: string): Line[] {
  const all = home.gateway.lines.map((line) => lineSchema.parse(JSON.parse(line)));
  return all.filter(({ msg }) => msg === message);
}

it('S14: any flood is logged as one line, and at the end as a count', async () => {
  for (const flood of Object.values(FLOODS)) await flood();
  const marker = `marker-${randomUUID()}`;
  const client = await RawClient.connect(home.gateway, await home.device(), { clientId: marker });
  await home.gateway.logged(marker);
  client.vanish();
  // One for the address, and one for the administrator who created the home.
  expect(lines('http request')).toHaveLength(2);
  const names = Object.keys(FLOODS).filter((name) => name !== 'http request');
  for (const name of names) expect([name, lines(name).length]).toEqual([name, 1]);
  expect(home.gateway.lines.length).toBeLessThan(50);

  await home.gateway.stop();
  for (const name of names) {
    expect([name, lines(name).map(({ repeated }) => repeated)]).toEqual([
      name,
      [undefined, TIMES - 1],
    ]);
  }
  const ofAddress = lines('http request').filter((line) => !('principal' in line));
  expect(ofAddress.map(({ repeated }) => repeated)).toEqual([undefined, TIMES - 1]);
  expect(home.gateway.lines.join('\n').length).toBeLessThan(20_000);
});
