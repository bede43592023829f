import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { parseAlarm } from '../../src/domain/alarms.js';
import type { Grant } from '../../src/domain/grants.js';
import { FolderFootageStore } from '../../src/footage/folder-footage-store.js';
import { UrlSignatures } from '../../src/footage/url-signatures.js';
import type { FootageStore } from '../../src/site/footage-store.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { Keys } from '../../src/store/keys.js';
import { SiteStoreRedis } from '../../src/store/site-store-redis.js';
import { describedAt } from '../harness/described-origins.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { connectDevice } from '../harness/mqtt-clients.js';
import { NO_LIMITS } from '../harness/no-limits.js';
import { ADMIN_TOKEN, type Environment } from '../harness/running-gateway.js';
import type { RedisPlace } from '../harness/shared-redis.js';
import { SocketProxy } from '../harness/socket-proxy.js';
import {
  type Camera,
  cameraBody,
  faultList,
  homeList,
  idBody,
  lossList,
  secretBody,
  tokenBody,
} from './answer-bodies.js';
import { type Answer, type CallOptions, call } from './client.js';
import { writeLosses } from './earlier-losses.js';

export const MAX_BODY_BYTES = 4096;
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;

export interface HarnessOptions {
  /** Keys of the configuration. */
  readonly environment?: Environment;
  /** How many losses of 200 alarms it has found at an earlier start. */
  readonly losses?: number;
  /** Whether `loseStore` can take its store away. */
  readonly losesStore?: boolean;
}

/** Starts a gateway with a site of its own, for one test. */
export async function startGateway(
  redis: RedisPlace,
  options: HarnessOptions = {},
): Promise<TestGateway> {
  const gateway = await TestGateway.start(redis, options);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** One gateway for the tests of a file that do not need an empty site. */
export function useGateway(redis: RedisPlace, options: HarnessOptions = {}): () => TestGateway {
  let gateway: TestGateway | undefined;
  beforeAll(async () => {
    gateway = await TestGateway.start(redis, options);
  });
  afterAll(() => gateway?.stop());
  return () => {
    if (gateway === undefined) throw new Error('The gateway starts before the tests');
    return gateway;
  };
}

/** A gateway as `main.ts` composes it, and how tests ask it. */
export class TestGateway {
  readonly running: GatewayHere;
  /** The losses that it was started with, newest first. */
  readonly lossIds: readonly string[];
  readonly #clock: { aheadMs: number };
  /** Its store, past the gateway. */
  readonly redis: Redis;
  readonly storeKeys: Keys;
  readonly #proxy: SocketProxy | undefined;
  /** By device, as they were shown. */
  readonly #secrets = new Map<string, string>();

  private constructor(
    parts: Pick<TestGateway, 'running' | 'lossIds'> & {
      readonly clock: { aheadMs: number };
      readonly keys: Keys;
      readonly redis: Redis;
      readonly proxy: SocketProxy | undefined;
    },
  ) {
    this.running = parts.running;
    this.lossIds = parts.lossIds;
    this.#clock = parts.clock;
    this.storeKeys = parts.keys;
    this.redis = parts.redis;
    this.#proxy = parts.proxy;
  }

  static async start({ socketPath }: RedisPlace, options: HarnessOptions): Promise<TestGateway> {
    const site = randomUUID();
    const clock = { aheadMs: 0 };
    const ownPath = `${socketPath}.${site}`;
    const proxy = options.losesStore ? await SocketProxy.start(ownPath, socketPath) : undefined;
    const running = await GatewayHere.create(
      {
        ...NO_LIMITS,
        GATEWAY_REDIS_URL: `unix://${proxy === undefined ? socketPath : ownPath}`,
        GATEWAY_SITE: site,
        GATEWAY_LOG_LEVEL: 'debug',
        GATEWAY_HTTP_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
        GATEWAY_FOOTAGE_MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES),
        GATEWAY_FOOTAGE_MIN_FREE_BYTES: '0',
        ...options.environment,
      },
      {
        // Time that passes, and not a clock that is set.
        now: () => Date.now() + clock.aheadMs,
        elapsed: () => performance.now() + clock.aheadMs,
      },
    );
    const lossIds = await writeLosses(running.dataDir, options.losses ?? 0);
    const redis = new Redis({ path: socketPath, lazyConnect: true });
    const keys = new Keys(site);
    const gateway = new TestGateway({ running, lossIds, clock, keys, redis, proxy });
    await running.start();
    return gateway;
  }

  /** How far its clocks are ahead of the real ones. */
  get aheadMs(): number {
    return this.#clock.aheadMs;
  }

  set aheadMs(aheadMs: number) {
    this.#clock.aheadMs = aheadMs;
  }

  get port(): number {
    return this.running.addresses.http.port;
  }

  /** Lines of the log. */
  get logged(): readonly string[] {
    return this.running.lines;
  }

  get footageDirectory(): string {
    return join(this.running.dataDir, 'footage');
  }

  /** Signs URLs with the gateway's key, also for objects that no alarm can name. */
  get footageStore(): FootageStore {
    const key = readFileSync(join(this.running.dataDir, 'footage.key'), 'utf8');
    const now = () => Date.now() + this.aheadMs;
    return new FolderFootageStore(new UrlSignatures(Buffer.from(key.trim()), now));
  }

  async stop(): Promise<void> {
    await this.running.remove();
    await this.#proxy?.close();
    this.redis.disconnect();
  }

  /** Makes the store unreachable. */
  loseStore(): void {
    if (this.#proxy === undefined) throw new Error('Start it with `losesStore`');
    this.#proxy.cut();
  }

  /** Makes it reachable again. */
  regainStore(): void {
    this.#proxy?.pass();
  }

  /** What the store has of the site. */
  async stored() {
    const { records, findings } = await new SiteStoreRedis(
      this.redis,
      this.storeKeys,
      new AuditRecords(this.storeKeys),
    ).load();
    return { ...records, findings };
  }

  /** Every key of its site in the store. */
  keys(): Promise<string[]> {
    return this.redis.keys(`${this.storeKeys.sitePrefix}*`);
  }

  /** Counts all records that the audit trail has had. */
  async recordCount(): Promise<number> {
    return Number(await this.redis.get(this.storeKeys.logSequence('audit')));
  }

  /** Sends a request; fails when the answer does not match the OpenAPI document. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const answered = await call(this.port, method, path, options);
    const { status, headers, text } = answered;
    const { json, body, headers: sent = {} } = options;
    const mediaType = sent['Content-Type'] ?? (json === undefined ? undefined : 'application/json');
    const request = {
      mediaType,
      text: json === undefined ? body?.toString() : JSON.stringify(json),
    };
    const described = await describedAt(this.running.httpUrl);
    if (described === undefined) throw new Error('The gateway has no description');
    described.check({ method, path, request, status, headers, text });
    if (method === 'POST' && status < 300 && text.includes('"secret":'))
      this.#remember(path, answered);
    return answered;
  }

  /** Sends a request as the administrator. */
  admin(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call(method, path, { token: ADMIN_TOKEN, ...options });
  }

  async createLocation(name = 'Haus Birke'): Promise<string> {
    const created = await this.admin('POST', '/care-homes', { json: { name } });
    return idBody.parse(created.json).id;
  }

  async createDevice(locationId: string, name = 'Bett 1'): Promise<string> {
    return (await this.createCamera(locationId, name)).id;
  }

  /** Creates a device; returns it with its secret. */
  async createCamera(locationId: string, name = 'Kamera 1'): Promise<Camera> {
    const path = `/care-homes/${locationId}/devices`;
    return cameraBody.parse((await this.admin('POST', path, { json: { name } })).json);
  }

  async createToken(grants: readonly Grant[], name = 'a token'): Promise<string> {
    return (await this.issueToken(grants, name)).token;
  }

  /** Creates an access token; returns its id as well. */
  async issueToken(grants: readonly Grant[], name = 'a token') {
    const created = await this.admin('POST', '/access-tokens', { json: { name, grants } });
    return tokenBody.parse(created.json);
  }

  /** The location that has the device. */
  async locationOf(deviceId: string): Promise<string> {
    const homes = homeList.parse((await this.admin('GET', '/care-homes')).json);
    return homes.find(({ devices }) => devices.includes(deviceId))?.id ?? '';
  }

  /** A loss that nobody has acknowledged. */
  async openLoss(): Promise<string> {
    const losses = lossList.parse((await this.admin('GET', '/losses')).json);
    return losses.find(({ acknowledgedAt }) => acknowledgedAt === null)?.id ?? '';
  }

  /** The faults that it tells of. */
  async faults(): Promise<readonly string[]> {
    return faultList.parse((await this.call('GET', '/readyz')).json).faults;
  }

  async createGroup(locationId: string, name = 'Station 1'): Promise<string> {
    const path = `/care-homes/${locationId}/groups`;
    return idBody.parse((await this.admin('POST', path, { json: { name } })).json).id;
  }

  async createRoom(locationId: string, groupId: string | null = null): Promise<string> {
    const path = `/care-homes/${locationId}/rooms`;
    const json = { name: 'Zimmer 1', groupId };
    return idBody.parse((await this.admin('POST', path, { json })).json).id;
  }

  /** Moves a device as the administrator. */
  moveDevice(locationId: string, deviceId: string, target: object): Promise<Answer> {
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    return this.admin('POST', path, { json: target });
  }

  /** Puts the device into a new room of a new group. */
  async placeInGroup(
    locationId: string,
    deviceId: string,
  ): Promise<{ groupId: string; roomId: string }> {
    const groupId = await this.createGroup(locationId);
    const roomId = await this.createRoom(locationId, groupId);
    const moved = await this.moveDevice(locationId, deviceId, { targetRoomId: roomId });
    if (moved.status !== 204) throw new Error(`Not moved: ${moved.text}`);
    return { groupId, roomId };
  }

  /** Connects as a device that was created here. */
  connectDevice(deviceId: string) {
    const secret = this.#secrets.get(deviceId) ?? '';
    return connectDevice(this.running, { id: deviceId, locationId: '', name: '', secret });
  }

  /** Publishes as the device; resolves when the gateway has acknowledged it. */
  async publish(deviceId: string, level: string, payloads: readonly (string | Buffer)[]) {
    const client = await this.connectDevice(deviceId);
    const topic = `devices/${deviceId}/${level}`;
    await Promise.all(payloads.map((payload) => client.publishAsync(topic, payload, { qos: 1 })));
    await client.endAsync();
  }

  /** Has the device raise an alarm in its present place; returns its id. */
  async recordAlarm(
    deviceId: string,
    alarm: string | Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const [id = ''] = await this.recordAlarms(deviceId, [alarm]);
    return id;
  }

  /** The same for several over one connection. */
  async recordAlarms(
    deviceId: string,
    alarms: readonly (string | Readonly<Record<string, unknown>>)[],
  ): Promise<string[]> {
    const texts = alarms.map((alarm) =>
      typeof alarm === 'string' ? alarm : JSON.stringify({ id: randomUUID(), ...alarm }),
    );
    const ids = texts.map((text) => {
      const result = parseAlarm(Buffer.from(text), deviceId, Date.now());
      // An invalid publish is acknowledged as well.
      if ('reason' in result || !result.alarm.idIsStable) throw new Error(`No such alarm: ${text}`);
      return result.alarm.id;
    });
    await this.publish(deviceId, 'alarms', texts);
    return ids;
  }

  #remember(path: string, { json }: Answer): void {
    const { id, secret } = secretBody.parse(json);
    // A new secret is answered without the device.
    const deviceId = id ?? path.split('/').at(-2);
    if (deviceId !== undefined) this.#secrets.set(deviceId.toLowerCase(), secret);
  }
}
