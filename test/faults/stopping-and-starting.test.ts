/** A gateway that ends and starts as a process: in time whatever its store does, and with whatever waits. */
import { closeSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { lockFile } from '../../src/store/data-directory.js';
import { killProcess, storeProcessId } from '../harness/gateway.js';
import { expect, type Home, type Own, test } from '../harness/index.js';
import { claimPort } from '../harness/program.js';
import { RedisProgram } from '../harness/redis.js';
import { eventually } from '../harness/wait.js';

const TIMEOUT = { timeout: 60_000 };
/** Several pages of 500 entries. */
const BACKLOG = 2_500;

interface Stop {
  readonly name: string;
  /** Takes the store away; returns what gives it back before the next start. */
  readonly takeAway: (home: Home, server: RedisProgram) => Promise<() => unknown>;
  readonly isServer?: boolean;
}

const STOPS: readonly Stop[] = [
  {
    name: 'its own store is frozen',
    takeAway: async (home) => {
      (await home.store()).freeze();
      return () => undefined;
    },
  },
  {
    name: 'its own store cannot be restarted',
    takeAway: async ({ gateway: { dataDir } }) => {
      const lock = join(dataDir, 'redis', 'redis.lock');
      const held = await eventually(() => {
        // Each that the gateway starts meanwhile: it takes its lock before it has a process id.
        const store = storeProcessId(dataDir);
        if (store !== undefined) killProcess(store);
        const descriptor = lockFile(lock);
        if (descriptor === undefined) throw new Error('a store has the lock');
        return descriptor;
      });
      return () => closeSync(held);
    },
  },
  {
    name: 'the server of redis.url is gone',
    isServer: true,
    takeAway: async (_, server) => {
      await server.kill();
      return () => server.start();
    },
  },
];

/** Stops a gateway with an alarm that is not stored, and an acknowledgement that is not saved. */
async function stopsInTime({ name, takeAway, isServer }: Stop, own: Own): Promise<void> {
  const server = await own.redis();
  const env = isServer === true ? { GATEWAY_REDIS_URL: server.url } : {};
  const home = await own.home({ kind: 'process', env });
  const { gateway } = home;
  const nurse = await home.nurse({ isDurable: true, acknowledges: false });
  const sensor = await home.sensor();
  await sensor.raise(2);
  await nurse.untilRecords(2);
  const giveBack = await takeAway(home, server);
  nurse.client.acknowledge();
  await nurse.flush();
  const unstored = sensor.alarm();
  await nurse.until(unstored);
  expect(unstored.isAcknowledged, name).toBe(false);
  // The gateway itself ends with another status if it has not stopped after ten seconds.
  expect(await gateway.stop(), name).toBe(0);
  const log = gateway.lines.join('\n');
  expect(log).toContain('giving up unstored messages; none of them was acknowledged');
  expect(log).toContain('"msg":"gateway stopped"');
  if (isServer !== true) expect(storeProcessId(gateway.dataDir), name).toBeUndefined();
  await giveBack();
  await gateway.start();
  await nurse.connect();
  nurse.client.acknowledgeAll();
  await home.settled({ mayRepeat: true });
}

test(
  'SIGTERM ends the gateway in time with what its store does not take, and loses nothing acknowledged',
  TIMEOUT,
  async ({ own }) => {
    // They all wait for the same time limits, which no test can shorten.
    await Promise.all(STOPS.map((stop) => stopsInTime(stop, own)));
  },
);

test(
  'SIGTERM ends the gateway with 0 while clients are connected, and say nothing',
  TIMEOUT,
  async ({ own }) => {
    const home = await own.home({ kind: 'process' });
    await home.nurse();
    await home.client(await home.device());
    for (const port of [home.gateway.httpPort, home.gateway.mqttPort]) {
      const silent = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
      await new Promise((resolve) => silent.once('connect', resolve));
    }
    expect(await home.gateway.stop()).toBe(0);
  },
);

test('SIGTERM ends a gateway that still waits for its store', TIMEOUT, async ({ own }) => {
  const url = `redis://127.0.0.1:${await claimPort()}`;
  const gateway = await own.gatewayOff({ kind: 'process', env: { GATEWAY_REDIS_URL: url } });
  const started = expect(gateway.start()).rejects.toThrow('ended with 0');
  await gateway.logged('failed to reach the store');
  expect(await gateway.stop()).toBe(0);
  await started;
});

test('a Sentinel as redis.url ends the start with one line', TIMEOUT, async ({ own }) => {
  const [directory, port] = [own.directory(), await claimPort()];
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\n`);
  const sentinel = new RedisProgram({ args: [file, '--sentinel'], directory, port });
  own.onEnd(() => sentinel.remove());
  await sentinel.start();
  const gateway = await own.gatewayOff({
    kind: 'process',
    env: { GATEWAY_REDIS_URL: sentinel.url },
  });
  await expect(gateway.start()).rejects.toThrow('ended with 1');
  const last = gateway.lines.at(-1) ?? '';
  expect(last).toMatch(/failed to start the gateway: the store cannot be used: it is a Sentinel/);
  expect(last).not.toContain('stack');
});

test(
  'guarantees 2 and 3: after a kill of gateway and store, each absent session gets its own long backlog, and new alarms behind it',
  TIMEOUT,
  async ({ own }) => {
    const home = await own.home({ kind: 'process' });
    const sensors = await Promise.all([0, 1, 2].map(() => home.sensor()));
    const nurses = await Promise.all(
      sensors.map(({ device }) => {
        const filters = [home.filter(device, 'alarms/#')];
        return home.nurse({ isDurable: true, filters });
      }),
    );
    for (const nurse of nurses) await nurse.leave();
    await Promise.all(sensors.map((sensor, at) => sensor.raise(at === 0 ? BACKLOG : 20)));
    const store = storeProcessId(home.gateway.dataDir) ?? 0;
    const dead = home.gateway.kill();
    killProcess(store);
    await dead;
    await home.gateway.start();
    const live = await home.nurse();
    await Promise.all(nurses.map((nurse) => nurse.connect()));
    await Promise.all(sensors.map((sensor) => sensor.raise(50)));
    await home.settled();
    for (const [at, nurse] of nurses.entries()) {
      expect(nurse.records).toHaveLength((at === 0 ? BACKLOG : 20) + 50);
    }
    await live.untilRecords(150);
  },
);
