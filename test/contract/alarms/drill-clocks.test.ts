import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';

const HOUR_MS = 3_600_000;
const drillsBody = z.array(
  z.looseObject({
    state: z.string(),
    destinations: z.array(z.looseObject({ acknowledgedAfterMs: z.number().nullable() })),
  }),
);

/** A gateway whose wall clock is set at will, while its other clock goes on. */
class Clocks {
  #wallMs: number;
  #setAtMs = performance.now();
  passedMs = 0;

  constructor(wall: string) {
    this.#wallMs = Date.parse(wall);
  }

  set(wall: string): void {
    this.#wallMs = Date.parse(wall);
    this.#setAtMs = this.elapsed();
  }

  readonly elapsed = () => performance.now() + this.passedMs;
  readonly now = () => Math.round(this.#wallMs + this.elapsed() - this.#setAtMs);
}

let gateway: GatewayHere | undefined;

afterEach(() => gateway?.remove());

/** Starts a gateway with a home for each daily drill, and a device in each. */
async function start(clocks: Clocks, times: readonly string[]) {
  const started = await GatewayHere.start({}, clocks);
  gateway = started;
  const homes = await Promise.all(times.map(() => Home.at(started)));
  for (const home of homes) await home.device();
  const drills = times.map((at, index) => {
    return { at, timeZone: 'UTC', locations: [homes[index]?.locationId] };
  });
  await started.stop();
  await started.configure({ drills });
  await started.start();
  const countOf = async (index: number) => (await listOf(homes[index])).length;
  return { homes, countOf };
}

async function listOf(home: Home | undefined) {
  if (home === undefined) throw new Error('no such home');
  return drillsBody.parse(await home.api.json('GET', `${home.path}/drills`));
}

describe('a scheduled drill', () => {
  it('takes place in the night after the clock was days ahead for a moment', async () => {
    const clocks = new Clocks('2026-11-28T02:00:00Z');
    const { countOf } = await start(clocks, ['03:30', '12:00']);
    clocks.set('2026-12-01T12:00:05Z');
    // The other drill shows that the gateway has looked at the clock.
    await expect.poll(() => countOf(1)).toBe(1);
    clocks.set('2026-11-28T03:30:05Z');
    await expect.poll(() => countOf(0)).toBe(1);
  });

  it('takes place although the gateway began with a clock that was ahead', async () => {
    const clocks = new Clocks('2026-11-28T15:00:00Z');
    const { countOf } = await start(clocks, ['14:00']);
    clocks.set('2026-11-28T14:00:05Z');
    await expect.poll(() => countOf(0)).toBe(1);
  });

  it('does not ring in the afternoon when a clock that was in 1970 is set', async () => {
    const clocks = new Clocks('1970-01-01T00:00:30Z');
    const { countOf } = await start(clocks, ['03:30', '14:00']);
    clocks.set('2026-11-28T14:00:05Z');
    await expect.poll(() => countOf(1)).toBe(1);
    expect(await countOf(0)).toBe(0);
  });

  it('takes place once when the clock is set back over its time', async () => {
    const clocks = new Clocks('2026-11-28T03:10:00Z');
    const { countOf } = await start(clocks, ['03:30', '03:20', '03:31']);
    clocks.set('2026-11-28T03:30:05Z');
    await expect.poll(() => countOf(0)).toBe(1);
    clocks.set('2026-11-28T03:20:05Z');
    await expect.poll(() => countOf(1)).toBe(1);
    clocks.set('2026-11-28T03:30:05Z');
    clocks.set('2026-11-28T03:31:05Z');
    await expect.poll(() => countOf(2)).toBe(1);
    expect(await countOf(0)).toBe(1);
  });
});

it('gives a destination sixty seconds by the clock that does not jump', async () => {
  const clocks = new Clocks('2026-11-28T10:00:00Z');
  const { homes } = await start(clocks, ['03:30']);
  const [home] = homes;
  if (home === undefined) throw new Error('no home');
  await home.absent('away');
  const here = await connect(home.gateway, {
    username: home.viewer.id,
    password: home.viewer.token,
    clientId: 'here',
    clean: false,
  });
  await here.subscribeAsync(`care-homes/${home.locationId}/#`, { qos: 1 });
  await home.api.json('POST', `${home.path}/drills`, {});
  clocks.set('2026-11-28T11:00:00Z');
  const acknowledged = async () => {
    const [drill] = await listOf(home);
    return drill?.destinations.filter((one) => one.acknowledgedAfterMs !== null).length;
  };
  await expect.poll(acknowledged).toBe(1);
  expect((await listOf(home))[0]?.state).toBe('running');
  clocks.set('2026-11-28T09:00:00Z');
  clocks.passedMs += HOUR_MS / 60;
  await expect.poll(async () => (await listOf(home))[0]?.state).toBe('failed');
  expect(await acknowledged()).toBe(1);
  await here.endAsync();
});
