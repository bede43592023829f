import { join } from 'node:path';
import createBrokerStorage from 'aedes-persistence-redis';
import { isEmbeddedStore } from '../config/store-schema.js';
import { repeat } from '../repeat.js';
import { runRetention } from '../retention-schedule.js';
import { StoreHeadroom } from '../site/health/store-headroom.js';
import { AuditStore } from '../store/audit.js';
import { ClockStoreRedis } from '../store/clock-store-redis.js';
import { DiskMonitor } from '../store/embedded/disk-monitor.js';
import { defaultMaxMemoryBytes, EmbeddedRedis } from '../store/embedded/embedded-redis.js';
import { AlarmHistoryRedis } from '../store/history/alarm-history.js';
import { HistoryLog } from '../store/history/history-log.js';
import { historyRetention } from '../store/history/retention.js';
import { type Keys, keysOf } from '../store/keys.js';
import { requireLayout } from '../store/layout.js';
import { DeadLetterStoreRedis, DrillStoreRedis, InvalidPublishStoreRedis } from '../store/lists.js';
import { QueueStoreRedis } from '../store/queues.js';
import { retainedConnection } from '../store/retained-connection.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  untilReady,
} from '../store/server/connection.js';
import { MemoryMonitor } from '../store/server/memory-monitor.js';
import { checkServer, checkSettings } from '../store/server/server-check.js';
import { StoreMonitor } from '../store/server/store-monitor.js';
import { SessionStoreRedis } from '../store/sessions.js';
import { SiteStoreRedis } from '../store/site/site-store-redis.js';
import { PresenceStoreRedis, TokenUseStoreRedis } from '../store/site/times.js';
import { EscalationStoreRedis, SupervisionStoreRedis } from '../store/site/watching.js';
import { Store } from '../store/store.js';
import { StoreWitness } from '../store/store-witness.js';
import type { Foundation } from './foundation.js';
import { openReplicas } from './replicating.js';
import { addressOfStore } from './store-place.js';

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
  const monitor = new StoreMonitor(writer, health, elapsed);
  monitor.start();
  releasers.add(() => monitor.stop());
  await untilReady(alarms);
  const reader = open(connectRedis({ ...place, name: 'backlog' }), true);
  const state = open(connectRedis({ ...place, name: 'state' }), true);
  const broker = open(connectRedis({ ...place, name: 'broker' }), true);
  for (const warning of await checkServer(state, config.redis.cluster !== undefined))
    log.warn(warning);
  const managing = connectManagementRedis({ ...place, name: 'management' });
  const management = open(managing, false);
  await untilReady(managing, MANAGEMENT_READY_TIMEOUT_MS);
  await requireLayout(state, keys);
  const memory = await startServerWatches(managing, management, headroom, options);
  if (embedded !== undefined) watchDisk(headroom, options);
  await steady.resume(new ClockStoreRedis(state, management, keys, log));
  releasers.add(() => steady.suspend());
  const audit = new AuditStore({ store: management, keys, steadyNow: steady.now, log });
  const witness = await openWitness(management, keys, options);
  const recordOf = audit.recordOf.bind(audit);
  const history = new HistoryLog({ writer, reader, keys, headroom, recordOf, log });
  const settling = open(connectRedis({ ...place, name: 'settling' }), false);
  const queues = new QueueStoreRedis(settling, reader, history, now);
  return {
    headroom,
    memory,
    history,
    queues,
    site: new SiteStoreRedis(management, keys, audit),
    alarms: new AlarmHistoryRedis(management, log),
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
    /** Retained messages as kept by Aedes' own Redis persistence, and their topics. */
    broker: createBrokerStorage({ conn: retainedConnection(broker, keys) }),
    retainedTopics: () => state.read((redis) => redis.hkeys(keys.retained)),
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

/** Starts watching a suitable server for later changes. */
async function startServerWatches(
  managing: StoreConnection,
  store: Store,
  headroom: StoreHeadroom,
  { log, health, releasers }: Foundation,
): Promise<MemoryMonitor> {
  const check = () => checkSettings(store, health);
  await check();
  // A connection is new when the server is: another box may have taken over, with other settings.
  managing.on('ready', () => void check());
  releasers.add(repeat(check, SETTINGS_INTERVAL_MS));
  const memory = new MemoryMonitor({ store, health, headroom, log });
  // A store that has gone away again must not stop the gateway from starting.
  await memory.check().catch(() => undefined);
  releasers.add(
    repeat(
      () => memory.check(),
      () => memory.pauseMs,
    ),
  );
  return memory;
}

/** Starts watching for lost data, after a check for data lost before the start. */
async function openWitness(
  store: Store,
  keys: Keys,
  { config, log, health, releasers, now }: Foundation,
): Promise<StoreWitness> {
  const path = join(config.dataDir, 'store-witness.json');
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
