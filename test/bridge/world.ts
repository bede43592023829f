import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IClientOptions } from 'mqtt';
import { afterEach, expect } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { UpstreamSubscriber } from '../former/clients/upstream-subscriber.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { GatewayProcess } from '../former/gateway/gateway-process.js';
import type { Environment } from '../former/gateway/running-gateway.js';
import { Home } from '../former/home.js';
import { accountOf } from '../former/metrics.js';
import { AedesUpstream } from '../former/servers/aedes-upstream.js';
import { Authority, type Certificate } from '../former/servers/certificates.js';
import { CutProxy } from '../former/servers/cut-proxy.js';
import { Mosquitto, type MosquittoOptions } from '../former/servers/mosquitto.js';
import { Sensor } from './sensor.js';

/** So short that the bridge notices silence soon, and tests do not wait for it. */
export const ACK_TIMEOUT_SECONDS = 1;

/** The resources of a test, released in reverse order after it. */
export class World {
  readonly #cleanups: (() => Promise<unknown>)[] = [];

  mosquitto(options?: MosquittoOptions): Promise<Mosquitto> {
    return this.#keep(Mosquitto.start(options), (one) => one.remove());
  }

  /** Creates a Mosquitto that is not started: nothing listens on its port. */
  deadMosquitto(options?: MosquittoOptions): Promise<Mosquitto> {
    return this.#keep(Mosquitto.create(options), (one) => one.remove());
  }

  aedes(certificate?: Certificate): Promise<AedesUpstream> {
    return this.#keep(AedesUpstream.start(certificate), (one) => one.remove());
  }

  /** Creates an authority, whose certificates are removed after the test. */
  async authority(): Promise<Authority> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-authority-'));
    this.onEnd(() => rm(directory, { recursive: true }));
    return Authority.create(directory);
  }

  proxy(target: { readonly port: number }): Promise<CutProxy> {
    return this.#keep(CutProxy.start(target), (one) => one.close());
  }

  /** Subscribes to everything at that upstream, with a persistent session. */
  async subscriber(mosquitto: Mosquitto, options?: IClientOptions): Promise<UpstreamSubscriber> {
    const subscriber = await this.subscriberAt(mosquitto.url, options);
    await mosquitto.save();
    return subscriber;
  }

  subscriberAt(url: string, options?: IClientOptions): Promise<UpstreamSubscriber> {
    return this.#keep(UpstreamSubscriber.connect(url, options), (one) => one.end());
  }

  /** A gateway with these bridges, and a home in it. */
  home(bridges: readonly object[], environment?: Environment): Promise<Home<GatewayHere>> {
    return this.#homeIn(GatewayHere.create(environment), bridges);
  }

  /** A gateway with these bridges in a separate process, which can be killed and reloaded. */
  homeOfProcess(
    bridges: readonly object[],
    environment?: Environment,
  ): Promise<Home<GatewayProcess>> {
    return this.#homeIn(GatewayProcess.create(environment), bridges);
  }

  async sensor(home: Home, name?: string): Promise<Sensor> {
    return this.sensorOf(home, await home.device(name));
  }

  sensorOf(home: Home, device: TestDevice): Sensor {
    const sensor = new Sensor(home.gateway, device);
    this.onEnd(() => sensor.end());
    return sensor;
  }

  sensors(home: Home, count: number): Promise<Sensor[]> {
    return Promise.all(Array.from({ length: count }, (_, at) => this.sensor(home, `Bett ${at}`)));
  }

  onEnd(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
  }

  /** Releases all resources, even if one of them fails. */
  async end(): Promise<void> {
    const failures: unknown[] = [];
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      await cleanup().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not taken down');
  }

  async #homeIn<Gateway extends GatewayHere | GatewayProcess>(
    created: Promise<Gateway>,
    bridges: readonly object[],
  ): Promise<Home<Gateway>> {
    const gateway = await this.#keep(created, (one) => one.remove());
    await gateway.configure({ bridges });
    await gateway.start();
    return Home.at(gateway);
  }

  async #keep<T>(starting: Promise<T>, end: (started: T) => Promise<unknown>): Promise<T> {
    const started = await starting;
    this.onEnd(() => end(started));
    return started;
  }
}

export function useWorld(): World {
  const world = new World();
  afterEach(() => world.end());
  return world;
}

/** A bridge to the upstream that forwards everything, with these other keys. */
export function bridgeTo(upstream: { readonly url: string }, keys: object = {}) {
  return { name: 'region', url: upstream.url, ackTimeoutSeconds: ACK_TIMEOUT_SECONDS, ...keys };
}

/** A bridge to Mosquitto through the proxy. */
export function bridgeThrough(proxy: CutProxy, mosquitto: Mosquitto, keys: object = {}) {
  return bridgeTo({ url: mosquitto.urlAt('127.0.0.1', proxy.port) }, keys);
}

/**
 * Compares every message acknowledged to the sensors with the arrivals upstream.
 *
 * All must have arrived, each device's in order, and the gateway's account of the bridge must match
 * the number of alarms.
 */
export async function reconciled(
  home: Home,
  subscriber: UpstreamSubscriber,
  sensors: readonly Sensor[],
  name = 'region',
): Promise<void> {
  for (const sensor of sensors) {
    const { device, published } = sensor;
    await sensor.settled();
    await subscriber.untilRecords(device.id, published.length);
    expect(subscriber.firstOf(device.id)).toEqual(published);
  }
  const alarms = alarmsOf(sensors);
  await expect
    .poll(() => accountOf(home.gateway, `bridge/${name}`, 'alarms'), { interval: 100 })
    .toEqual({ accepted: alarms, delivered: alarms, queued: 0, expired: 0, dropped: 0 });
}

/** Checks that every alarm of the sensors is queued or delivered. Returns how many are queued. */
export async function queuedAlarms(home: Home, sensors: readonly Sensor[], name = 'region') {
  const account = await accountOf(home.gateway, `bridge/${name}`, 'alarms');
  const { accepted, delivered, queued, ...lost } = account;
  expect(lost).toEqual({ expired: 0, dropped: 0 });
  expect(accepted).toBe(alarmsOf(sensors));
  expect(delivered + queued).toBe(accepted);
  return queued;
}

function alarmsOf(sensors: readonly Sensor[]): number {
  return sensors.reduce((sum, { published }) => sum + published.filter(isAlarmKey).length, 0);
}

/** Whether the key is an alarm's id, and not another message's value. */
export function isAlarmKey(key: string): boolean {
  return !key.startsWith('{');
}
