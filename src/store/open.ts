/** Opens the store: the server or its address, one connection for each purpose, its watches, and every aggregate on it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isEmbeddedStore, type StoreConfig, type StoreTlsConfig } from '../config/store-schema.js';
import type { Foundation } from '../foundation.js';
import { type Releasers, repeat, runRetention } from '../releasers.js';
import { StoreHeadroom } from '../site/health/store-headroom.js';
import { AuditStore } from './audit.js';
import { DiskMonitor } from './data-directory.js';
import { defaultMaxMemoryBytes, EmbeddedRedis } from './embedded/embedded-redis.js';
import { AlarmHistory } from './history/alarm-history.js';
import { Erasure } from './history/erasure.js';
import { HistoryLog, historyRetention } from './history/history-log.js';
import { type Keys, keysOf } from './keys.js';
import { DeadLetterStoreRedis, DrillStoreRedis, InvalidPublishStoreRedis } from './lists.js';
import { ClusterRoute } from './pair/cluster-route.js';
import { Replicas } from './pair/replicas.js';
import { Failovers, SentinelMajority, type SentinelPlace } from './pair/sentinels.js';
import { QueueStoreRedis } from './queues.js';
import { continueRestored } from './restored.js';
import { RetainedRedis } from './retained.js';
import { checkServer, checkSettings, requireLayout } from './server/check.js';
import {
  type ConnectionOptions,
  connectManagementRedis,
  connectRedis,
  type StoreAccess,
  type StoreConnection,
  StoreOutages,
  type StoreTls,
  untilReady,
} from './server/connection.js';
import { StoreWatch } from './server/watch.js';
import { SessionStoreRedis } from './sessions.js';
import {
  ClockStoreRedis,
  EscalationStoreRedis,
  PresenceStoreRedis,
  SupervisionStoreRedis,
  TokenUseStoreRedis,
} from './site/kept.js';
import { SiteStoreRedis } from './site/site-store.js';
import { Store } from './store.js';
import { StoreWitness, WITNESS_FILE } from './witness.js';

const MANAGEMENT_READY_TIMEOUT_MS = 10_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RETENTION_INTERVAL_MS = HOUR_MS;
/** Too short for telemetry to fill the room that the last check left for alarms. */
const DISK_INTERVAL_MS = 250;
const WITNESS_INTERVAL_MS = 1_000;
const SETTINGS_INTERVAL_MS = 30_000;

/** Everything stored, over separate connections where one must not wait for another. */
export type Storage = Awaited<ReturnType<typeof openStorage>>;

/** Connects to the configured store, or starts the embedded one. */
export async function openStorage(options: Foundation) {
  const { config, log, health, releasers, elapsed, steady, now } = options;
  const headroom = new StoreHeadroom();
  const embedded = await startEmbedded(options);
  const keys = keysOf(config.site);
  const socketPath = embedded?.socketPath;
  const place = options.store?.address ?? addressOfStore(config.redis, keys, options, socketPath);
  const replicas = openReplicas(options, keys);
  const writeOptions = { guard: options.store?.tenure, replicas };
  const open = (redis: StoreConnection, isPatient: boolean): Store => {
    const store = new Store(redis, keys.sitePrefix, { ...writeOptions, isPatient });
    releasers.add(() => store.close());
    return store;
  };
  const alarms = connectRedis({ ...place, name: 'alarms' });
  const writer = open(alarms, false);
  const watch = new StoreWatch({ store: writer, health, headroom, log, elapsed });
  releasers.add(watch.start());
  await untilReady(alarms);
  const reader = open(connectRedis({ ...place, name: 'backlog' }), true);
  const state = open(connectRedis({ ...place, name: 'state' }), true);
  const broker = open(connectRedis({ ...place, name: 'broker' }), true);
  for (const warning of await checkServer(state, config.redis.cluster !== undefined))
    log.warn(warning);
  const managing = connectManagementRedis({ ...place, name: 'management' });
  const management = open(managing, false);
  await untilReady(managing, MANAGEMENT_READY_TIMEOUT_MS);
  await requireLayout(state, keys, log);
  await watchSettings(managing, management, options);
  await watch.check();
  if (embedded !== undefined) watchDisk(headroom, options);
  await steady.resume(new ClockStoreRedis(state, management, keys, log));
  releasers.add(() => steady.suspend());
  const audit = new AuditStore({ store: management, keys, steadyNow: steady.now, log });
  const recordOf = audit.recordOf.bind(audit);
  const history = new HistoryLog({ writer, reader, keys, headroom, recordOf, log });
  const reportRestored = await continueRestored(config.dataDir, state, history, keys);
  const witness = await openWitness(management, keys, options);
  await reportRestored(witness);
  const settling = open(connectRedis({ ...place, name: 'settling' }), false);
  const queues = new QueueStoreRedis(settling, reader, history, now);
  return {
    headroom,
    memory: watch,
    history,
    queues,
    site: new SiteStoreRedis(management, keys, audit),
    alarms: new AlarmHistory(management, log),
    erasure: new Erasure(state),
    audit,
    witness,
    /** Distinguishes the store from an emptied or replaced one; empty while unknown. */
    identity: () => witness.identity,
    sessions: new SessionStoreRedis(state, keys),
    presence: new PresenceStoreRedis(state, keys),
    supervision: new SupervisionStoreRedis(state, keys),
    escalations: new EscalationStoreRedis(state, keys),
    drills: new DrillStoreRedis(management, keys),
    tokenUse: new TokenUseStoreRedis(state, keys),
    invalidPublishes: new InvalidPublishStoreRedis({
      store: state,
      management,
      keys,
      headroom,
      maxPerLocation: config.rejected.maxPerLocation,
    }),
    deadLetters: new DeadLetterStoreRedis(management, keys),
    retained: new RetainedRedis(broker, keys),
    /** Starts removing old alarms and audit records. */
    startRetention: () => {
      const trail = new AuditStore({ store: state, keys, steadyNow: steady.now, log });
      startRetention(state, queues, trail, options);
    },
    /** From now on, each write waits for `redis.replicas`. Before, nothing is acknowledged to anybody. */
    startConfirming: () => {
      if (replicas === undefined) return;
      const trial = connectManagementRedis({ ...place, name: 'replicas' });
      releasers.add(() => trial.disconnect());
      releasers.add(replicas.start(trial));
    },
  };
}

/** Looks at the settings of the server, and again for each connection: another box may have taken over. */
async function watchSettings(
  managing: StoreConnection,
  store: Store,
  { health, releasers }: Foundation,
): Promise<void> {
  const check = () => checkSettings(store, health);
  await check();
  managing.on('ready', () => void check());
  releasers.add(repeat(check, SETTINGS_INTERVAL_MS));
}

/** Starts watching for lost data, after a check for data lost before the start. */
async function openWitness(
  store: Store,
  keys: Keys,
  { config, log, health, releasers, now }: Foundation,
): Promise<StoreWitness> {
  const path = join(config.dataDir, WITNESS_FILE);
  const { site } = config;
  const witness = await StoreWitness.start({ store, keys, path, site, health, log, now });
  // A last check records the last change.
  releasers.add(() => witness.check());
  releasers.add(repeat(() => witness.check(), WITNESS_INTERVAL_MS));
  return witness;
}

/** Starts removing old alarms and audit records. */
function startRetention(
  store: Store,
  queues: QueueStoreRedis,
  trail: AuditStore,
  options: Foundation,
): void {
  const { config, log, releasers, steady } = options;
  const { now } = steady;
  const alarmAgeMs = config.history.retentionDays * DAY_MS;
  const queuedFrom = () => queues.oldestQueued();
  const alarms = historyRetention(store, alarmAgeMs, now, queuedFrom);
  const records = trail.retention(config.audit.retentionDays * DAY_MS);
  const intervalMs = RETENTION_INTERVAL_MS;
  releasers.add(runRetention(alarms, { what: 'alarms', intervalMs, log }));
  releasers.add(runRetention(records, { what: 'audit records', intervalMs, log }));
}

async function startEmbedded(options: Foundation): Promise<EmbeddedRedis | undefined> {
  const { config, log, releasers, searchPath } = options;
  if (!isEmbeddedStore(config.redis)) return undefined;
  const embedded = new EmbeddedRedis({
    dataDir: config.dataDir,
    maxMemoryBytes: config.redis.maxMemoryBytes ?? defaultMaxMemoryBytes(),
    log,
    searchPath,
  });
  releasers.addLimited(() => embedded.stop());
  await embedded.start();
  return embedded;
}

/** Starts watching the disk that the embedded store writes to. */
function watchDisk(headroom: StoreHeadroom, { config, health, releasers }: Foundation): void {
  const disk = new DiskMonitor(config.dataDir, health, headroom);
  releasers.add(repeat(() => disk.check(), DISK_INTERVAL_MS));
}

/** How to reach the store, for any connection to it. */
export type StoreAddress = Omit<ConnectionOptions, 'name'>;

/** @param socketPath the socket of the gateway's own store */
export function addressOfStore(
  redis: StoreConfig,
  keys: Keys,
  { log, releasers }: { readonly log: Logger; readonly releasers: Releasers },
  socketPath?: string,
): StoreAddress {
  const outages = new StoreOutages(log);
  if (socketPath !== undefined) return { socketPath, log, outages };
  const { url, cluster } = redis;
  const access = accessOf(redis.user, redis.password, redis.tls);
  const common = { access, log, outages };
  if (url !== undefined) return { url, ...common };
  if (cluster !== undefined) {
    const primary = new ClusterRoute(cluster, access, keys.sitePrefix);
    return { primary, isCluster: true, ...common };
  }
  const sentinels = sentinelsOf(redis);
  if (sentinels === undefined) return common;
  const primary = new Failovers(sentinels, log);
  primary.start();
  releasers.add(() => primary.stop());
  return { primary, ...common };
}

/** The configured Sentinels; undefined if nobody chooses a primary. */
export function sentinelsOf(redis: StoreConfig): SentinelPlace | undefined {
  const { sentinels, name = '' } = redis;
  if (sentinels === undefined) return undefined;
  const access = accessOf(redis.sentinelUser, redis.sentinelPassword, redis.sentinelTls);
  return { sentinels, name, access };
}

/** Reads the certificates and combines them with the credentials. */
function accessOf(
  user: string | undefined,
  password: string | undefined,
  tls: StoreTlsConfig | undefined,
): StoreAccess {
  return { user, password, tls: tls && readTls(tls) };
}

function readTls({ caFile, certFile, keyFile }: StoreTlsConfig): StoreTls {
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(certFile !== undefined && { cert: readFileSync(certFile) }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
  };
}

/** The replicas that must confirm writes before they are acknowledged; undefined if none must. */
export function openReplicas(
  { config, health, log, elapsed }: Foundation,
  keys: Keys,
): Replicas | undefined {
  const { replicas: count, withoutReplica } = config.redis;
  if (count === 0) return undefined;
  const sentinels = sentinelsOf(config.redis);
  const majority = sentinels && new SentinelMajority(sentinels);
  return new Replicas({
    count,
    withoutReplica,
    majority,
    health,
    log,
    elapsed,
    markKey: keys.replicaMark,
  });
}
