import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { Gauge, Histogram, Registry } from 'prom-client';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { AlarmLogItem } from '../../src/delivery/log-entry.js';
import { LogWriter } from '../../src/delivery/log-writer.js';
import { parseAlarm } from '../../src/domain/alarms.js';
import type { Grant } from '../../src/domain/grants.js';
import { DiskReserve } from '../../src/footage/disk-reserve.js';
import { FolderFootageStore } from '../../src/footage/folder-footage-store.js';
import { FootageFolder } from '../../src/footage/footage-folder.js';
import { UrlSignatures } from '../../src/footage/url-signatures.js';
import { createHttpApp } from '../../src/http/app.js';
import type { Metrics } from '../../src/http/dependencies.js';
import type { HttpApp } from '../../src/http/http-env.js';
import { createHttpListener } from '../../src/http/listener.js';
import { openApiDocument } from '../../src/http/openapi-document.js';
import { AlarmStates } from '../../src/ingest/alarm-states.js';
import { DevicePublishes } from '../../src/ingest/device-publishes.js';
import { TestAlarmPublishes } from '../../src/ingest/test-alarms.js';
import { ProcessorShare } from '../../src/processor-share.js';
import { AccessTokens } from '../../src/site/access-tokens.js';
import { AUDIT_ACTIONS, type AuditTrail } from '../../src/site/audit-trail.js';
import { Denials } from '../../src/site/denials.js';
import { Devices } from '../../src/site/devices.js';
import type {
  EventSubscription,
  StreamOutlet,
  StreamRequest,
} from '../../src/site/event-streams.js';
import { Footage } from '../../src/site/footage.js';
import type { FootageStore } from '../../src/site/footage-store.js';
import { Groups } from '../../src/site/groups.js';
import { Health } from '../../src/site/health.js';
import { KnownNetworks } from '../../src/site/known-networks.js';
import { Locations } from '../../src/site/locations.js';
import { Losses } from '../../src/site/losses.js';
import type { DevicePresence } from '../../src/site/presence-view.js';
import { QuotaWatch } from '../../src/site/quota-watch.js';
import { Rooms } from '../../src/site/rooms.js';
import { SiteChanges } from '../../src/site/site-changes.js';
import { SiteEvents } from '../../src/site/site-events.js';
import { SiteFaults } from '../../src/site/site-faults.js';
import { SiteModel } from '../../src/site/site-model.js';
import { StoreHeadroom } from '../../src/site/store-headroom.js';
import { AlarmFinderRedis } from '../../src/store/alarm-finder-redis.js';
import { AlarmHistoryRedis } from '../../src/store/alarm-history-redis.js';
import { AuditArchive } from '../../src/store/audit/archive.js';
import { AuditArchiveFaults } from '../../src/store/audit/faults.js';
import { AuditRecords } from '../../src/store/audit/records.js';
import { AuditTrailRedis } from '../../src/store/audit/trail-redis.js';
import { DeadLetterStoreRedis } from '../../src/store/dead-letter-store-redis.js';
import { InvalidPublishStoreRedis } from '../../src/store/invalid-publish-store-redis.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { LossFile } from '../../src/store/loss-file.js';
import { SiteStoreRedis } from '../../src/store/site-store-redis.js';
import { quotaOf } from '../footage/quota.js';
import { DescribedHttp } from '../harness/described-http.js';
import { Lines } from '../harness/lines.js';
import { newAlarm } from '../harness/new-alarm.js';
import { type Answer, type CallOptions, call } from './client.js';

export const ADMIN_TOKEN = 'the-admin-token-of-the-tests';
export const MAX_BODY_BYTES = 4096;
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;
const MAX_INVALID_PUBLISHES = 5;
const RECHECK_MS = 60_000;
const VERSION = '1.2.3';

export interface HarnessOptions {
  /** The gateway's own folder when left out. */
  readonly footageStore?: FootageStore;
  /** The trail that records footage URLs; the real one when left out. */
  readonly footageAudit?: AuditTrail;
  readonly minFreeBytes?: number;
  readonly publicUrl?: string;
  readonly bodyTimeoutMs?: number;
  readonly isTrustedAddress?: (address: string) => boolean;
  readonly metrics?: Metrics;
}

/** What a listener needs beside its app: limits that no test reaches by itself. */
export const FAIRNESS = {
  turns: new ProcessorShare(),
  admitsHandshake: () => true,
  isKnown: () => false,
  watch: { exceeded: () => undefined },
  maxConnections: 10_000,
  maxConnectionsPerAddress: 1_000,
};

/** One `redis-server` for the tests of a file; each test has a site of its own in it. */
export function useRedis(): { socketPath: string } {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-http-'));
  const place = { socketPath: join(directory, 'redis.sock') };
  const settings = ['--port', '0', '--save', '', '--appendonly', 'no'];
  let server: ReturnType<typeof spawn> | undefined;
  beforeAll(async () => {
    const child = spawn('redis-server', [...settings, '--unixsocket', place.socketPath], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    server = child;
    const lines = new Lines();
    lines.read(child.stdout);
    await lines.next(/ready to accept connections/i, 0);
  });
  afterAll(async () => {
    if (server?.exitCode === null && server.kill()) await once(server, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  return place;
}

/** Starts the HTTP side of a gateway on a free port and a real store, for one test. */
export async function startGateway(
  { socketPath }: { socketPath: string },
  options: HarnessOptions = {},
): Promise<TestGateway> {
  const redis = new Redis({ path: socketPath, retryStrategy: () => null });
  redis.on('error', () => undefined);
  const directory = join(dirname(socketPath), randomUUID());
  mkdirSync(directory);
  const gateway = new TestGateway(redis, directory, options);
  onTestFinished(async () => {
    await gateway.stop();
    redis.disconnect();
  });
  await gateway.start();
  return gateway;
}

/** A subscription that ends when it begins. */
function endedAtOnce(_request: StreamRequest, outlet: StreamOutlet): EventSubscription {
  outlet.opened('0-0-', false);
  setImmediate(() => outlet.end());
  const nothing = () => undefined;
  return { taken: nothing, wake: nothing, unread: nothing, close: nothing };
}

/** A registry with one of the gateway's metrics. */
function metricsOf(health: Health): Registry {
  const registry = new Registry();
  new Gauge({
    name: 'gateway_faults',
    help: 'Faults.',
    registers: [registry],
    collect() {
      this.set(health.faults().length);
    },
  });
  return registry;
}

/** Made once, as the app of every gateway has the same routes. */
let described: DescribedHttp | undefined;

const idBody = z.looseObject({ id: z.string() });
const tokenBody = z.looseObject({ id: z.string(), token: z.string() });

const cameraBody = z.looseObject({ id: z.string(), secret: z.string() });
export type Camera = z.infer<typeof cameraBody>;

export class TestGateway {
  readonly app: HttpApp;
  readonly model = new SiteModel();
  readonly events = new SiteEvents();
  readonly health = new Health();
  readonly presence = new Map<string, DevicePresence>();
  readonly store: SiteStoreRedis;
  readonly audit: AuditTrailRedis;
  readonly knownNetworks = new KnownNetworks();
  readonly denials: Denials;
  readonly losses: Losses;
  readonly invalidPublishes: InvalidPublishStoreRedis;
  readonly footageStore: FootageStore;
  readonly footageDirectory: string;
  /** Lines of the log. */
  readonly logged: string[] = [];
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #logStore: LogStore;
  readonly #changes: SiteChanges;
  readonly #listener: ReturnType<typeof createHttpListener>;
  readonly #described: DescribedHttp;
  /** How far the gateway's clock is ahead of the real one. */
  aheadMs = 0;
  port = 0;

  /** @param directory an existing directory for this gateway alone */
  constructor(redis: Redis, directory: string, options: HarnessOptions) {
    const keys = new Keys(randomUUID());
    const { model, events, health } = this;
    const now = () => Date.now() + this.aheadMs;
    const records = new AuditRecords(keys);
    const store = new SiteStoreRedis(redis, keys, records);
    const log = pino({ level: 'debug' }, { write: (line: string) => this.logged.push(line) });
    this.#redis = redis;
    this.#prefix = keys.sitePrefix;
    this.store = store;
    this.#logStore = new LogStore(redis, redis, keys);
    const archive = new AuditArchive(join(directory, 'audit'), new AuditArchiveFaults(health, log));
    this.audit = new AuditTrailRedis({ redis, keys, records, archive, maxSegmentsPerPage: 1 });
    this.losses = new Losses({
      store: new LossFile(join(directory, 'losses.json'), log),
      ...{ audit: this.audit, health, log, now },
    });
    this.denials = new Denials({
      ...{ audit: this.audit, headroom: new StoreHeadroom(), log, now },
      steadyNow: now,
    });
    this.invalidPublishes = new InvalidPublishStoreRedis(redis, keys, MAX_INVALID_PUBLISHES);
    const signatures = new UrlSignatures(Buffer.from('the footage key of the tests'), now);
    this.footageStore = options.footageStore ?? new FolderFootageStore(signatures);
    this.footageDirectory = join(directory, 'footage');
    const changes = new SiteChanges({
      ...{ store, model, events, faults: new SiteFaults(health, log), log, now },
      ...{ headroom: new StoreHeadroom(), recheckMs: RECHECK_MS },
    });
    this.#changes = changes;
    const accessTokens = new AccessTokens(changes, model, ADMIN_TOKEN, now);
    const devicesOf = (locationId: string) => model.devicesOf(locationId).map(({ id }) => id);
    const alarms = new LogWriter<AlarmLogItem>({
      log: 'alarms',
      store: this.#logStore.alarms,
      deliveries: { announce: async () => undefined },
      onOutage: () => undefined,
      logger: log,
    });
    const publishes = new DevicePublishes({
      ...{ model, alarms, now, steadyNow: now, maxAlarmBytes: MAX_BODY_BYTES },
      forwarder: { forward: () => undefined },
      invalid: { report: () => undefined },
    });
    this.app = createHttpApp({
      testAlarms: new TestAlarmPublishes({ publishes, audit: this.audit, now }),
      alarmStates: new AlarmStates({
        ...{ model, accessTokens, alarms, now, steadyNow: now, maxBytes: MAX_BODY_BYTES },
        finder: new AlarmFinderRedis(redis, keys, devicesOf),
        invalid: { reportOfToken: () => undefined },
      }),
      locations: new Locations(changes, model),
      groups: new Groups(changes, model),
      rooms: new Rooms(changes, model),
      devices: new Devices(changes, model, now),
      accessTokens,
      model,
      history: new AlarmHistoryRedis(redis, keys),
      audit: this.audit,
      bridges: { statuses: async () => [], has: () => false },
      losses: this.losses,
      deadLetters: new DeadLetterStoreRedis(redis, keys),
      denials: this.denials,
      watch: new QuotaWatch({ health, model, log, now }),
      knownNetworks: this.knownNetworks,
      connections: { page: () => ({ connections: [], next: undefined }), denied: () => [] },
      sessions: { withLargestBacklogs: async () => ({ total: 0, sessions: [] }) },
      // Without a delivery there are no messages.
      events: { open: endedAtOnce },
      presence: { of: (id) => this.presence.get(id) ?? { online: false, lastSeenAtMs: null } },
      invalidPublishes: this.invalidPublishes,
      health,
      footage: new Footage(this.footageStore, options.footageAudit ?? this.audit, now),
      footageFiles: new FootageFolder({
        steadyNow: now,
        directory: this.footageDirectory,
        signatures,
        reserve: new DiskReserve(directory, options.minFreeBytes ?? 0),
        quota: quotaOf(this.footageDirectory),
        isKnown: (id) => model.device(id) !== undefined,
        maxUploadBytes: MAX_UPLOAD_BYTES,
      }),
      publicUrl: options.publicUrl,
      metrics: options.metrics ?? metricsOf(health),
      requestDurations: new Histogram({
        ...{ name: 'durations', help: 'Durations.', registers: [] },
        labelNames: ['method', 'route', 'status'],
      }),
      openMetrics: false,
      cursorKey: Buffer.from('the cursor key of the tests'),
      maxBodyBytes: MAX_BODY_BYTES,
      version: VERSION,
      console: { directory: 'dist/console', footageOrigins: [] },
      log,
      now,
      elapsed: now,
      ...(options.isTrustedAddress === undefined
        ? {}
        : { isTrustedAddress: options.isTrustedAddress }),
    });
    described ??= new DescribedHttp(openApiDocument(this.app, VERSION));
    this.#described = described;
    this.#listener = createHttpListener({
      ...{ app: this.app, host: '127.0.0.1', port: 0, log, ...FAIRNESS },
      ...(options.bodyTimeoutMs === undefined ? {} : { bodyTimeoutMs: options.bodyTimeoutMs }),
    });
  }

  async start(): Promise<void> {
    this.health.started();
    const { port } = await this.#listener.start();
    this.port = port;
  }

  async stop(): Promise<void> {
    await this.#listener.stop(0);
    this.#changes.stop();
    await this.denials.stop();
  }

  /** Reports a loss of 200 alarms; returns its id. */
  lose(): string {
    const detail = 'The store is back at an earlier state.';
    this.losses.report({ what: 'alarms', from: 801, to: 1000, count: 200, detail });
    return this.losses.list()[0]?.id ?? '';
  }

  /** Makes the store unreachable from now on. */
  loseStore(): void {
    this.#redis.disconnect();
  }

  /** Every key of its site in the store. */
  keys(): Promise<string[]> {
    return this.#redis.keys(`${this.#prefix}*`);
  }

  /** Counts all records that the audit trail has had. */
  async recordCount(): Promise<number> {
    const { upToSequence } = await this.audit.page({
      ...{ actions: AUDIT_ACTIONS, order: 'desc', limit: 1 },
      ...{ beforeMs: undefined, afterMs: undefined, upToSequence: undefined, position: undefined },
      ...{ locationId: undefined, actorId: undefined, resourceId: undefined },
    });
    return upToSequence;
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
    this.#described.check({ method, path, request, status, headers, text });
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
    const path = `/care-homes/${locationId}/devices`;
    return idBody.parse((await this.admin('POST', path, { json: { name } })).json).id;
  }

  /** Creates a device; returns it with its secret. */
  async createCamera(locationId: string, name = 'Kamera 1'): Promise<Camera> {
    const path = `/care-homes/${locationId}/devices`;
    return cameraBody.parse((await this.admin('POST', path, { json: { name } })).json);
  }

  async createToken(grants: readonly Grant[], name = 'a token'): Promise<string> {
    const created = await this.admin('POST', '/access-tokens', { json: { name, grants } });
    return tokenBody.parse(created.json).token;
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

  /** Records an alarm, as the ingest does, in the device's present place; returns its id. */
  async recordAlarm(
    deviceId: string,
    alarm: string | Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const context = this.model.context(deviceId);
    const receivedAtMs = Date.now();
    const text = typeof alarm === 'string' ? alarm : JSON.stringify(alarm);
    const result = parseAlarm(Buffer.from(text), deviceId, receivedAtMs);
    if (context === undefined || 'reason' in result) throw new Error('Not an alarm of a device');
    await this.#logStore.alarms.append([newAlarm(result.alarm, context, receivedAtMs)]);
    return result.alarm.id;
  }
}
