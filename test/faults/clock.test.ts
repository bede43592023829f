/**
 * The machine's clock is wrong, is set, or jumps, and time passes (contract 4.6 and 4.7): ages go by the time for which
 * the gateway runs, and nothing acknowledged is lost by a wrong clock.
 */
import { networkInterfaces } from 'node:os';
import {
  askUrl,
  createToken,
  expect,
  type Gateway,
  type Home,
  type Nurse,
  type Sensor,
  test,
} from '../harness/index.js';
import { claimPort } from '../harness/program.js';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;
const ALARMS = 5;
const BRIDGE = 'bridge/away';
const VIDEO = { type: 'video', contentType: 'video/mp4' };
const CLOCK = /clock of this machine/;
/** More than one round of all the periodic work of a hurried gateway. */
const ROUNDS = 4;

/** The gateway sends its status as often as it sweeps. */
async function isSwept(home: Home): Promise<void> {
  const nurse = await home.nurse({ filters: ['gateway/status'] });
  await nurse.until(({ received }) => received.length > ROUNDS, 'statuses');
  await nurse.leave();
}

async function says(home: Home, fault: RegExp): Promise<void> {
  await expect.poll(async () => (await home.faults()).join()).toMatch(fault);
}

/** Has the first sensor upload a recording, and all of them raise alarms. */
async function work(home: Home, sensors: readonly Sensor[]): Promise<void> {
  const [camera] = sensors;
  if (camera === undefined) throw new Error('no camera');
  const { device } = camera;
  const prepared = await home.must('POST', `/devices/${device.id}/footage`, {
    device,
    json: VIDEO,
  });
  const headers = { 'Content-Type': VIDEO.contentType };
  const upload = await askUrl('PUT', prepared.string('uploadUrl'), { headers, body: 'a film' });
  expect(upload.status).toBe(200);
  for (const sensor of sensors) {
    const isFilmed = sensor === camera;
    sensor.alarm({ ...(isFilmed && { footage: { video: prepared.string('key') } }) });
    await sensor.raise(ALARMS);
  }
}

/** Boots wrong or right, at 0 or at this offset of the clock; or sets the clock while it runs. */
type Step = { readonly boot: number } | { readonly set: number };
const IN_1970 = 60 * SECOND_MS - Date.now();

const HISTORIES: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  ['boots 400 days ahead, is corrected, and boots again', bootedAt(400 * DAY_MS)],
  ['boots 8 days behind, is corrected, and boots again', bootedAt(-8 * DAY_MS)],
  ['boots in 1970, is corrected, and boots again', bootedAt(IN_1970)],
  ['is 400 days ahead at its first boot, and right at later ones', firstAt(400 * DAY_MS)],
  ['is in 1970 at its first boot, and right at later ones', firstAt(IN_1970)],
  ['jumps 1,000 hours ahead, and back', [{ boot: 0 }, { set: 1_000 * HOUR_MS }, { set: -HOUR_MS }]],
];

function bootedAt(offMs: number): Step[] {
  return [{ boot: 0 }, { boot: offMs }, { set: 0 }, { boot: 0 }];
}

function firstAt(offMs: number): Step[] {
  return [{ boot: offMs }, { set: 0 }, { boot: 0 }];
}

test.for(HISTORIES)(
  'guarantee 7: nothing is removed, expired or forgotten when the clock %s',
  async ([, steps], { own }) => {
    const url = `mqtt://127.0.0.1:${await claimPort()}`;
    const config = { bridges: [{ name: 'away', url, send: 'alarms' }] };
    const gateway = await own.gatewayOff({ config, isHurried: true });
    let offMs = 0;
    let home: Home | undefined;
    let nurse: Nurse | undefined;
    let sensors: readonly Sensor[] = [];
    for (const step of steps) {
      const nextMs = 'boot' in step ? step.boot : step.set;
      if ('boot' in step && home !== undefined) await gateway.stop();
      await gateway.clock.jump(nextMs - offMs);
      if ('boot' in step) await gateway.start();
      else if (home !== undefined) await says(home, /clock .* has jumped/);
      if (home === undefined) {
        home = await own.homeAt(gateway);
        nurse = await home.nurse({ isDurable: true });
        await nurse.leave();
        sensors = [await home.sensor(), await home.sensor({ qos: 2 })];
      } else if (nextMs < -HOUR_MS) {
        await says(home, CLOCK);
      }
      offMs = nextMs;
      await work(home, sensors);
      await isSwept(home);
    }
    if (home === undefined) throw new Error('there were no steps');
    const queued = home.ledger.count;
    expect(await home.account(BRIDGE, 'alarms')).toMatchObject({ queued, expired: 0, dropped: 0 });
    await nurse?.connect();
    await home.settled();
    const answer = await home.must('GET', `./devices/${sensors[0]?.device.id}/alarms?limit=100`);
    const urls = answer.list('events').map(({ footage }) => Object(footage).video);
    const recordings = urls.filter((one) => typeof one === 'string');
    expect(recordings).toHaveLength(steps.length);
    for (const one of recordings) expect((await askUrl('GET', one)).text).toBe('a film');
  },
);

test('guarantee 7: a token that expires only by a clock that is ahead is valid again, with its session', async ({
  own,
}) => {
  const home = await own.home({ isHurried: true });
  const { gateway } = home;
  const grants = [{ location: home.locationId, role: 'viewer' }];
  const token = await createToken(
    gateway,
    grants,
    'a month',
    new Date(Date.now() + 30 * DAY_MS).toISOString(),
  );
  const [nurse, sensor] = [await home.nurse({ isDurable: true, token }), await home.sensor()];
  await nurse.leave();
  await sensor.raise();
  await gateway.stop();
  await gateway.clock.jump(400 * DAY_MS);
  await gateway.start();
  await expect(nurse.connect()).rejects.toThrow('CONNACK');
  await sensor.raise();
  await isSwept(home);
  await gateway.stop();
  await gateway.clock.jump(-400 * DAY_MS);
  await gateway.start();
  await nurse.connect();
  await home.settled();
});

test('guarantee 7: a jump escalates nothing and reports no device silent; the time that passes does', async ({
  own,
}) => {
  const home = await own.home({
    isHurried: true,
    env: { GATEWAY_SUPERVISION_SILENT_AFTER_SECONDS: '60' },
    config: { escalations: [{ name: 'nurse', afterSeconds: 60 }] },
  });
  const device = await home.device();
  const filters = ['escalations/+', 'supervision'].map((rest) => home.filter(device, rest));
  const nurse = await home.nurse({ filters });
  const kinds = () => nurse.received.map(({ topic }) => topic.split('/')[4]).sort();
  await home.publish(device, 'alarms', '{"kind":"fall"}');
  for (const hours of [24, -48]) {
    await home.gateway.clock.jump(hours * HOUR_MS);
    await says(home, new RegExp(`jumped by ${hours * 3_600} s`));
    await isSwept(home);
    expect(kinds()).toEqual([]);
  }
  await home.gateway.clock.advance(61 * SECOND_MS);
  await expect.poll(kinds).toEqual(['escalations', 'supervision']);
});

test('guarantee 6: what waits too long expires, for durable and live nurses, and is counted; what is new comes', async ({
  own,
}) => {
  const [hours, inFlight] = [1, 5];
  const home = await own.home({
    isHurried: true,
    env: {
      GATEWAY_SESSIONS_MAX_QUEUED_HOURS: String(hours),
      GATEWAY_MQTT_MAX_IN_FLIGHT: String(inFlight),
    },
  });
  const sensor = await home.sensor({ keepalive: 0 });
  const durable = await home.nurse({ isDurable: true });
  const live = await home.nurse({ acknowledges: false, keepalive: 0 });
  await durable.leave();
  const old = await sensor.raise(3 * inFlight);
  await live.untilRecords(inFlight);
  await home.gateway.clock.advance(2 * hours * HOUR_MS);
  const account = () => home.account(durable.clientId, 'alarms');
  await expect.poll(account).toMatchObject({ queued: 0, expired: old.length, dropped: 0 });
  live.client.acknowledgeAll();
  await durable.connect();
  const [fresh] = await sensor.raise();
  await live.untilRecords(inFlight + 1);
  await durable.untilRecords(1);
  for (const { records } of [durable, live]) {
    expect(JSON.parse(records.at(-1)?.text ?? '').data.n).toBe(fresh?.n);
  }
});

test('an alarm that waited for more than 60 s comes late, and says so', async ({ own }) => {
  const home = await own.home({ isHurried: true });
  const [sensor, live] = [await home.sensor(), await home.nurse()];
  const durable = await home.nurse({ isDurable: true });
  await durable.leave();
  await sensor.raise();
  await live.untilCount(1);
  await home.gateway.clock.advance(61 * SECOND_MS);
  await durable.connect();
  await durable.untilRecords(1);
  const late = [durable, live].map((nurse) => nurse.messages().at(0)?.['late']);
  expect(late).toEqual([true, false]);
});

/** An address of this machine that is not loopback, which is exempt from the limits. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

test.runIf(ADDRESS !== undefined)(
  'nobody is locked out when the clock is set back',
  async ({ own }) => {
    const gateway: Gateway = await own.gatewayOff({
      isHurried: true,
      env: {
        GATEWAY_MQTT_HOST: '0.0.0.0',
        GATEWAY_HTTP_HOST: '0.0.0.0',
        GATEWAY_ALLOW_PLAINTEXT: 'true',
      },
    });
    await gateway.clock.jump(8 * DAY_MS);
    await gateway.start();
    const home = await own.homeAt(gateway);
    const ask = (token: string) =>
      fetch(`http://${ADDRESS}:${gateway.httpPort}/care-homes`, {
        headers: { authorization: `Bearer ${token}` },
      });
    while ((await ask('guess')).status !== 429);
    await gateway.clock.jump(-8 * DAY_MS);
    await says(home, /has jumped/);
    expect((await ask(home.viewer.token)).status).toBe(200);
    expect(Number((await ask('guess')).headers.get('retry-after'))).toBeLessThanOrEqual(60);
  },
);
