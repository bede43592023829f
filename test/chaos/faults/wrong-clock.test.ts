import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { describe, expect, it, type TestContext } from 'vitest';
import { z } from 'zod';
import { bridgeOf } from '../../bridge/bridge-api.js';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { hurryIntervals } from '../../former/gateway/hurried-intervals.js';
import { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';
import { unusedPort } from '../../former/servers/unused-port.js';
import { Store } from '../../former/stored/store.js';
import { isRecorded, Sensor, saysReady, Watcher } from './faults.js';

const DAY_SECONDS = 86_400;
const ALARMS_AT_A_TIME = 5;
/** More than three hurried intervals. */
const SWEPT_AFTER_MS = 700;
const BRIDGE = 'upstream';
const VIDEO = 'video/mp4';
const LONG = { timeout: 120_000 };
const CLOCK = /clock of this machine/;

const prepared = z.object({ key: z.string(), uploadUrl: z.url() });

hurryIntervals();

/** A machine's clock that is wrong by this offset. */
class WrongClock {
  #offsetMs = 0;

  constructor(offsetSeconds: number) {
    this.set(offsetSeconds);
  }

  readonly now = (): number => Date.now() + this.#offsetMs;

  set(offsetSeconds: number): void {
    this.#offsetMs = offsetSeconds * 1_000;
  }
}

const AHEAD = { wrong: '400 days ahead', offsetSeconds: 400 * DAY_SECONDS };
const BEHIND = { wrong: '8 days behind', offsetSeconds: -8 * DAY_SECONDS };
/** The clock of a box that boots without a battery-backed clock. */
const IN_1970 = { wrong: 'in 1970', offsetSeconds: 60 - Math.round(Date.now() / 1000) };

/** A box with an absent nurse call, a bridge that is down, and a working camera. */
class Box {
  readonly clock: WrongClock;
  readonly gateway: GatewayHere;
  readonly #home: Home;
  readonly #camera: TestDevice;
  readonly #sent: string[] = [];
  readonly #recordings: string[] = [];

  private constructor(clock: WrongClock, gateway: GatewayHere, home: Home, camera: TestDevice) {
    this.clock = clock;
    this.gateway = gateway;
    this.#home = home;
    this.#camera = camera;
  }

  static async start({ onTestFinished }: TestContext, offsetSeconds: number): Promise<Box> {
    const clock = new WrongClock(offsetSeconds);
    const gateway = await GatewayHere.create({}, { now: clock.now });
    onTestFinished(() => gateway.remove());
    const url = `mqtt://127.0.0.1:${await unusedPort()}`;
    await gateway.configure({ bridges: [{ name: BRIDGE, url }] });
    await gateway.start();
    const home = await Home.at(gateway);
    const nurseCall = await Watcher.connect(home, 'durable');
    await nurseCall.subscriber.end();
    return new Box(clock, gateway, home, await home.device('Kamera 7'));
  }

  async restart(offsetSeconds: number): Promise<void> {
    await this.gateway.stop();
    this.clock.set(offsetSeconds);
    await this.gateway.start();
  }

  /** Sends alarms until acknowledged, and a recording. */
  async work(): Promise<void> {
    const sensor = await Sensor.connect(this.#home, this.#camera);
    for (let count = 0; count < ALARMS_AT_A_TIME; count++) sensor.alarm();
    await sensor.allAcknowledged();
    sensor.client.vanish();
    this.#sent.push(...sensor.sent);
    this.#recordings.push(await this.#record());
  }

  /** Waits until every sweep has run by the current clock. */
  async isSwept(): Promise<void> {
    const store = await Store.of(this.gateway);
    const seenMs = async () => Number(await store.redis.hget('{site}:clock', 'steadyMs'));
    const fromMs = await seenMs();
    await eventually(async () => {
      expect(await seenMs()).toBeGreaterThan(fromMs + SWEPT_AFTER_MS);
    });
    store.close();
  }

  /** Creates a viewer's token that is valid for this long. */
  async tokenFor(seconds: number): Promise<TestToken> {
    const expiresAt = new Date(Date.now() + seconds * 1000).toISOString();
    const grants = [{ location: this.#home.locationId, role: 'viewer' }];
    const token = await this.#home.api.json('POST', '/access-tokens', {
      name: 'temporary',
      grants,
      expiresAt,
    });
    return z.object({ id: z.string(), token: z.string() }).parse(token);
  }

  get alarmFilter(): string {
    return this.#home.filter(this.#camera, 'alarms/#');
  }

  says(): Promise<string> {
    return saysReady(this.#home);
  }

  async hasEverything(): Promise<void> {
    await isRecorded(this.#home, this.#camera, this.#sent);
    for (const key of this.#recordings) expect(existsSync(this.#fileOf(key))).toBe(true);
    const count = this.#sent.length;
    expect(await accountOf(this.gateway, 'durable', 'alarms')).toMatchObject({
      queued: count,
      expired: 0,
      dropped: 0,
    });
    const bridge = await bridgeOf(this.#home, BRIDGE);
    expect(bridge.queued).toBeGreaterThanOrEqual(count);
    expect(bridge.dropped).toEqual({ tooOld: 0, tooMany: 0, refused: 0, lost: 0 });
    const back = await Watcher.back(this.#home);
    await eventually(() => expect(back.storedOf(this.#camera)).toEqual(this.#sent));
    await back.subscriber.end();
  }

  async #record(): Promise<string> {
    const { id, secret } = this.#camera;
    const response = await fetch(`${this.gateway.httpUrl}/devices/${id}/footage`, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ type: 'video', contentType: VIDEO }),
    });
    const { key, uploadUrl } = prepared.parse(await response.json());
    const headers = { 'Content-Type': VIDEO };
    const answer = await fetch(uploadUrl, { method: 'PUT', headers, body: Buffer.from('film') });
    expect(answer.status).toBe(200);
    return key;
  }

  #fileOf(key: string): string {
    return join(this.gateway.dataDir, 'footage', key);
  }
}

describe.concurrent('guarantee 7: nothing acknowledged is removed, expired or forgotten', () => {
  it.for([AHEAD, BEHIND, IN_1970])(
    'when the box boots $wrong, is corrected, and boots again',
    LONG,
    async ({ offsetSeconds }, context) => {
      const box = await Box.start(context, 0);
      await box.work();
      await box.restart(offsetSeconds);
      expect(await box.says()).toMatch(CLOCK);
      await box.work();
      await box.isSwept();
      box.clock.set(0);
      await eventually(async () => expect(await box.says()).toMatch(/has jumped/));
      await box.work();
      await box.isSwept();
      await box.restart(0);
      await box.isSwept();
      await box.hasEverything();
    },
  );

  it.for([AHEAD, IN_1970])(
    'when the very first boot is $wrong, and later ones are right',
    LONG,
    async ({ offsetSeconds }, context) => {
      const box = await Box.start(context, offsetSeconds);
      await box.work();
      box.clock.set(0);
      await eventually(async () => expect(await box.says()).toMatch(/has jumped/));
      await box.work();
      await box.restart(0);
      await box.isSwept();
      await box.hasEverything();
    },
  );

  it(
    'when a token expires only by a clock that is ahead, and becomes valid again',
    LONG,
    async (context) => {
      const box = await Box.start(context, 0);
      const token = await box.tokenFor(30 * DAY_SECONDS);
      const session = { clientId: 'temporary', clean: false };
      const before = await Subscriber.connect(box.gateway, token, session);
      await before.subscribe(box.alarmFilter);
      await before.end();
      await box.work();
      await box.restart(400 * DAY_SECONDS);
      await expect(Subscriber.connect(box.gateway, token, session)).rejects.toThrow();
      await box.work();
      await box.isSwept();
      await box.restart(0);
      const after = await Subscriber.connect(box.gateway, token, session);
      await after.untilCount(2 * ALARMS_AT_A_TIME);
      await after.end();
    },
  );
});

/** An address of this machine that is not loopback, which is exempt from the limits. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

it.skipIf(ADDRESS === undefined)('locks nobody out when the clock is set back', async (context) => {
  const clock = new WrongClock(8 * DAY_SECONDS);
  const exposed = {
    GATEWAY_MQTT_HOST: '0.0.0.0',
    GATEWAY_HTTP_HOST: '0.0.0.0',
    GATEWAY_ALLOW_PLAINTEXT: 'true',
  };
  const gateway = await GatewayHere.start(exposed, { now: clock.now });
  context.onTestFinished(() => gateway.remove());
  const home = await Home.at(gateway);
  const [username, password] = [home.viewer.id, home.viewer.token];
  const connect = async () => {
    const url = `mqtt://${ADDRESS}:${gateway.mqttPort}`;
    const client = await mqtt.connectAsync(url, { username, password, reconnectPeriod: 0 });
    await client.endAsync();
  };
  const guess = () =>
    fetch(`http://${ADDRESS}:${gateway.addresses.http.port}/care-homes`, {
      headers: { authorization: 'Bearer guess' },
    });
  await connect();
  await eventually(async () => expect((await guess()).status).toBe(429));
  clock.set(0);
  await eventually(async () => expect(await saysReady(home)).toMatch(/has jumped/));
  await connect();
  expect(Number((await guess()).headers.get('retry-after'))).toBeLessThanOrEqual(60);
});
