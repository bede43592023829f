import { join } from 'node:path';
import createBrokerStorage, { type RedisPersistence } from 'aedes-persistence-redis';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import type { Releasers } from './releasers.js';
import { RetentionSchedule } from './retention-schedule.js';
import type { Health } from './site/health.js';
import { Losses } from './site/losses.js';
import type { SteadyClock } from './site/steady-clock.js';
import { StoreHeadroom } from './site/store-headroom.js';
import { AlarmHistoryRedis } from './store/alarm-history-redis.js';
import { AlarmRetention } from './store/alarm-retention.js';
import { AppendOnlyWatch } from './store/append-only-watch.js';
import { AuditArchive } from './store/audit/archive.js';
import { AuditArchiveFaults } from './store/audit/archive-faults.js';
import { AuditArchiveRetention } from './store/audit/archive-retention.js';
import { AuditArchiveSchedule } from './store/audit/archive-schedule.js';
import { AuditArchiver } from './store/audit/archiver.js';
import { AuditRecords } from './store/audit/records.js';
import { AuditRetention } from './store/audit/retention.js';
import { AuditTrailRedis } from './store/audit/trail-redis.js';
import { BridgeRegisterRedis } from './store/bridge-register-redis.js';
import { CarryOver } from './store/carry-over.js';
import { ClockStoreRedis } from './store/clock-store-redis.js';
import { connectManagementRedis, connectRedis, untilReady } from './store/connection.js';
import { DeadLetterStoreRedis } from './store/dead-letter-store-redis.js';
import { DiskMonitor } from './store/disk-monitor.js';
import { defaultMaxMemoryBytes } from './store/embedded-memory.js';
import { embeddedPlace } from './store/embedded-place.js';
import { createEmbeddedRedis } from './store/embedded-redis.js';
import { InvalidPublishStoreRedis } from './store/invalid-publish-store-redis.js';
import { Keys } from './store/keys.js';
import { Leftovers } from './store/leftovers.js';
import { LogStore } from './store/log-store.js';
import { LossFile } from './store/loss-file.js';
import { LossWatch } from './store/loss-watch.js';
import { MemoryMonitor } from './store/memory-monitor.js';
import { PresenceStoreRedis } from './store/presence-store-redis.js';
import { RetainedMonitor } from './store/retained-monitor.js';
import { RetainedTopicsRedis } from './store/retained-topics-redis.js';
import { checkServer } from './store/server-check.js';
import { SessionStoreRedis } from './store/session-store-redis.js';
import { SettingsWatch } from './store/settings-watch.js';
import { SiteStoreRedis } from './store/site-store-redis.js';
import { StoreMonitor } from './store/store-monitor.js';
import { StoreOutages } from './store/store-outages.js';
import { WitnessFile } from './store/store-witness.js';

const MANAGEMENT_READY_TIMEOUT_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RETENTION_INTERVAL_MS = HOUR_MS;
const ARCHIVE_INTERVAL_MS = 60_000;
const MIB = 1024 * 1024;
/** Sizes of the audit trail: per action in the store's memory, per file, and open files. */
const MAX_KEPT_BYTES = 8 * MIB;
const SEGMENT_BYTES = 4 * MIB;
const MAX_OPEN_SEGMENTS = 8;

/** What to do about a store whose memory is nearly full. */
const ADVICE_OF_EMBEDDED =
  'give the machine more memory, or raise redis.maxMemoryBytes, or shorten history.retentionDays';
const ADVICE_OF_SERVER = 'raise maxmemory of the server, or shorten history.retentionDays';

/** Everything stored, over as many connections as must not wait for each other. */
export interface Storage {
  readonly site: SiteStoreRedis;
  readonly headroom: StoreHeadroom;
  readonly memory: MemoryMonitor;
  readonly logs: LogStore;
  readonly history: AlarmHistoryRedis;
  readonly audit: AuditTrailRedis;
  readonly losses: Losses;
  readonly sessions: SessionStoreRedis;
  readonly presence: PresenceStoreRedis;
  readonly invalidPublishes: InvalidPublishStoreRedis;
  readonly leftovers: Leftovers;
  readonly deadLetters: DeadLetterStoreRedis;
  readonly bridgeRegister: BridgeRegisterRedis;
  /** Wills, retained messages and incoming QoS 2, as Aedes' own Redis persistence keeps them. */
  readonly broker: RedisPersistence;
  readonly retainedTopics: RetainedTopicsRedis;
  /**
   * Starts removing old alarms and audit records.
   *
   * @param unackedFrom the first alarm above the lowest ack floor
   */
  readonly startRetention: (unackedFrom: () => number) => void;
}

export interface StorageOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly health: Health;
  readonly releasers: Releasers;
  /** The `PATH` for the embedded store's program, the only part of the environment that is passed on. */
  readonly searchPath: string | undefined;
  /** The wall clock. */
  readonly now: () => number;
  readonly elapsed: () => number;
  /** Resumed from the store before anything is measured by it. */
  readonly steady: SteadyClock;
}

/** Connects to the configured store, or else starts the embedded one. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { config, log, health, releasers, elapsed, steady } = options;
  const headroom = new StoreHeadroom();
  const socketPath = await startEmbedded(headroom, options);
  const outages = new StoreOutages(log);
  const place = { url: config.redis.url, socketPath, log, outages };
  const keys = new Keys(config.site);
  const connections: Redis[] = [];
  const opened = (redis: Redis): Redis => {
    connections.push(redis);
    return redis;
  };
  releasers.add(() => {
    for (const redis of connections) redis.disconnect();
  });
  const writer = opened(connectRedis({ ...place, name: 'alarms' }));
  const monitor = new StoreMonitor(writer, health, elapsed);
  monitor.start();
  releasers.add(() => monitor.stop());
  for (const warning of await checkServer(writer)) log.warn(warning);
  const reader = opened(connectRedis({ ...place, name: 'backlog' }));
  const state = opened(connectRedis({ ...place, name: 'state' }));
  const broker = opened(connectRedis({ ...place, name: 'broker', keyPrefix: keys.brokerPrefix }));
  const management = opened(connectManagementRedis({ ...place, name: 'management' }));
  await untilReady(management, MANAGEMENT_READY_TIMEOUT_MS);
  // The carry-over comes before any other read or write.
  await new CarryOver(state, keys, log).run();
  const memory = await startServerWatches(management, headroom, options);
  watchRetained(management, keys, memory, headroom, options);
  await steady.resume(new ClockStoreRedis(state, management, keys, log));
  releasers.add(() => steady.suspend());
  const archive = await startArchive(state, keys, options);
  const records = new AuditRecords(keys);
  const audit = new AuditTrailRedis({ redis: management, keys, records, archive });
  const losses = await watchForLosses(management, keys, audit, options);
  return {
    ...{ headroom, memory },
    site: new SiteStoreRedis(management, keys, records, headroom),
    logs: new LogStore(writer, reader, keys, log, headroom),
    history: new AlarmHistoryRedis(management, keys, log),
    audit,
    losses,
    sessions: new SessionStoreRedis(state, keys),
    presence: new PresenceStoreRedis(state, broker, keys),
    invalidPublishes: new InvalidPublishStoreRedis(
      state,
      keys,
      config.rejected.maxPerLocation,
      headroom,
    ),
    leftovers: new Leftovers(state, keys, log),
    deadLetters: new DeadLetterStoreRedis(management, keys),
    bridgeRegister: new BridgeRegisterRedis(management, keys, records),
    broker: createBrokerStorage({ conn: broker }),
    retainedTopics: new RetainedTopicsRedis(broker),
    startRetention: (unackedFrom) => startRetention(state, keys, archive, unackedFrom, options),
  };
}

/** Starts watching for later changes to a suitable server. */
async function startServerWatches(
  redis: Redis,
  headroom: StoreHeadroom,
  { config, log, health, releasers }: StorageOptions,
): Promise<MemoryMonitor> {
  const settings = new SettingsWatch(redis, health);
  settings.start();
  releasers.add(() => settings.stop());
  const isOurs = config.redis.url === undefined;
  const advice = isOurs ? ADVICE_OF_EMBEDDED : ADVICE_OF_SERVER;
  const memory = new MemoryMonitor({ redis, health, headroom, log, advice });
  await memory.start();
  releasers.add(() => memory.stop());
  if (!isOurs) return memory;
  const { directory } = embeddedPlace(config.dataDir);
  const files = new AppendOnlyWatch({ redis, directory, health, log });
  files.start();
  releasers.add(() => files.stop());
  return memory;
}

/** Starts watching how much retained messages take. */
function watchRetained(
  redis: Redis,
  keys: Keys,
  memory: MemoryMonitor,
  headroom: StoreHeadroom,
  { config, health, releasers }: StorageOptions,
): void {
  const monitor = new RetainedMonitor({
    ...{ redis, key: keys.retained, health, headroom },
    maxBytes: config.limits.total.retainedBytes,
    storeBytes: () => memory.memory.maxBytes,
  });
  monitor.start();
  releasers.add(() => monitor.stop());
}

/** Starts watching for losses, after finding those from before the start. */
async function watchForLosses(
  redis: Redis,
  keys: Keys,
  audit: AuditTrailRedis,
  { config, log, health, releasers, now }: StorageOptions,
): Promise<Losses> {
  const store = new LossFile(join(config.dataDir, 'losses.json'), log);
  const losses = new Losses({ store, audit, health, log, now });
  await losses.load();
  const file = new WitnessFile(join(config.dataDir, 'store-witness.json'), config.site, log);
  const watch = new LossWatch({ redis, keys, file, losses, log, now });
  await watch.start();
  releasers.add(() => watch.stop());
  return losses;
}

/** Starts moving audit records to the disk before they take too much memory. */
async function startArchive(
  redis: Redis,
  keys: Keys,
  { config, log, health, releasers }: StorageOptions,
): Promise<AuditArchive> {
  const faults = new AuditArchiveFaults(health, log);
  const directory = join(config.dataDir, 'audit');
  const archive = new AuditArchive({ directory, faults, maxOpen: MAX_OPEN_SEGMENTS });
  const archiver = new AuditArchiver({
    ...{ redis, keys, archive },
    maxKeptBytes: MAX_KEPT_BYTES,
    segmentBytes: SEGMENT_BYTES,
  });
  const intervalMs = ARCHIVE_INTERVAL_MS;
  const schedule = new AuditArchiveSchedule(archiver, { intervalMs, faults, log });
  await schedule.start();
  releasers.add(() => schedule.stop());
  return archive;
}

/** Starts removing old alarms and audit records. */
function startRetention(
  redis: Redis,
  keys: Keys,
  auditArchive: AuditArchive,
  unackedFrom: () => number,
  options: StorageOptions,
): void {
  const { config, log, releasers, steady } = options;
  const { now } = steady;
  const alarms = new AlarmRetention({
    ...{ redis, keys, now, unackedFrom },
    maxAgeMs: config.history.retentionDays * DAY_MS,
  });
  const records = new AuditRetention({
    ...{ redis, keys, now },
    archive: new AuditArchiveRetention(auditArchive),
    maxAgeMs: config.audit.retentionDays * DAY_MS,
  });
  const intervalMs = RETENTION_INTERVAL_MS;
  for (const schedule of [
    new RetentionSchedule(alarms, { what: 'alarms', intervalMs, log }),
    new RetentionSchedule(records, { what: 'audit records', intervalMs, log }),
  ]) {
    schedule.start();
    releasers.add(() => schedule.stop());
  }
}

async function startEmbedded(
  headroom: StoreHeadroom,
  options: StorageOptions,
): Promise<string | undefined> {
  const { config, log, health, releasers, searchPath } = options;
  if (config.redis.url !== undefined) return undefined;
  const embedded = createEmbeddedRedis({
    dataDir: config.dataDir,
    maxMemoryBytes: config.redis.maxMemoryBytes ?? defaultMaxMemoryBytes(),
    ...{ log, searchPath },
  });
  releasers.addLimited(() => embedded.stop());
  await embedded.start();
  const disk = new DiskMonitor(config.dataDir, health, headroom);
  disk.start();
  releasers.add(() => disk.stop());
  return embedded.socketPath;
}
