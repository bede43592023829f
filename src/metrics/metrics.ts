/**
 * The metrics of `/metrics`: a table with a row for each, and the runner that reads every row when somebody scrapes.
 *
 * Values are counted where they arise and read on demand. Only durations are observed as they happen.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BridgeStatus } from '../bridge/bridge.js';
import { type AccountReader, tooMany } from '../delivery/accounts.js';
import { LOG_NAMES } from '../delivery/message.js';
import { isOutlet } from '../delivery/outlet.js';
import type { Account } from '../delivery/queue.js';
import type { Router } from '../delivery/router.js';
import type { ConsumingSession } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { InvalidPublishes } from '../ingest/invalid-publishes.js';
import type { Health } from '../site/health/health.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import type { StoreMemory } from '../store/server/watch.js';

/** Where the values are counted. */
export interface MetricsSources {
  readonly router: Router;
  /** The consumers of persistent sessions have metrics. */
  readonly sessions: Pick<Sessions, 'count' | 'persistent'>;
  readonly accounts: Pick<AccountReader, 'refresh'>;
  readonly exceededQuotas: () => readonly Counted[];
  readonly invalid: InvalidPublishes;
  readonly version: string;
  /** The version of Node.js. */
  readonly runtime: string;
  /** Undefined without a lease. */
  readonly leaseEpoch: number | undefined;
  readonly devicesOnline: () => number;
  readonly health: Health;
  /** Undefined without TLS. */
  readonly certificateEndMs: () => number | undefined;
  readonly connections: () => number;
  readonly unstoredBytes: () => number;
  readonly unkeptPublishes: () => number;
  readonly slowedPrincipals: () => number;
  readonly heldBack: () => number;
  readonly lostDenials: () => number;
  readonly storeMemory: () => StoreMemory;
  readonly notStored: Pick<StoreHeadroom, 'notStored'>;
  readonly bridges: () => Promise<BridgeStatus[]>;
}

type Counted = readonly [value: string, count: number];
/** A value, and the values of the row's labels in their order; undefined leaves a label out. */
type Sample = readonly [value: number, ...labels: readonly (string | undefined)[]];
type Values = number | readonly Sample[];

/** The sources, with what is read once for all rows. */
interface Scrape extends MetricsSources {
  readonly consumers: () => Promise<RankedConsumers>;
}

type Row = readonly [
  help: string,
  read: (scrape: Scrape) => Values | Promise<Values>,
  labels?: readonly string[],
];

/** Consumers with series of their own; a scrape must not hold up alarms. */
const MAX_CONSUMERS = 250;
/** The states of accepted messages: each message is in one of them. */
const STATES = ['delivered', 'queued', 'expired', 'dropped'] as const;

/** Absent without an external store. */
const LEASE_EPOCH = 'gateway_lease_epoch';

/**
 * Every metric but the histograms and those of the process.
 *
 * One whose name ends in `_total` is a counter of this run of the gateway; any other is a gauge.
 */
export const METRICS: Readonly<Record<string, Row>> = {
  gateway_alarms_total: [
    'Alarms recorded',
    ({ router }) => coded(router.alarmFigures.counts),
    ['kind'],
  ],
  gateway_log_last_sequence: [
    'The number of the newest entry of the history',
    ({ router }) => [[router.numbers.known, 'alarms']],
    ['log'],
  ],
  // The account of every destination: for alarms `accepted = delivered + queued + expired + dropped` (contract 4.6).
  gateway_consumer_accepted_total: [
    'Messages accepted for a consumer: the sum of delivered, queued, expired and dropped',
    ofAccounts(({ accepted }) => [[accepted]]),
    ['consumer', 'log', 'principal'],
  ],
  gateway_consumer_delivered_total: [
    'Accepted messages that the consumer has acknowledged',
    ofAccounts(({ delivered }) => [[delivered]]),
    ['consumer', 'log', 'principal'],
  ],
  gateway_consumer_queued: [
    'Accepted messages that wait or are in flight',
    ofAccounts(({ queued }) => [[queued]]),
    ['consumer', 'log', 'principal'],
  ],
  gateway_consumer_expired_total: [
    'Accepted messages that left the backlog because of their age',
    ofAccounts(({ expired }) => [[expired]]),
    ['consumer', 'log', 'principal'],
  ],
  gateway_consumer_dropped_total: [
    'Accepted messages that left the backlog undelivered, for another reason',
    ofAccounts(({ dropped }) => [[dropped]]),
    ['consumer', 'log', 'principal'],
  ],
  gateway_consumer_dropped_by_reason_total: [
    'The same by reason: too_many (bounds of the backlog), refused (dead letters), lost (by the store), forbidden (the receiver may no longer see them), too_large (for the receiver)',
    ofAccounts((account) =>
      coded(Object.entries({ 'too-many': tooMany(account), ...account.reasons })),
    ),
    ['consumer', 'log', 'principal', 'reason'],
  ],
  // A gauge: which consumers are in the sum changes with the backlogs.
  gateway_other_consumers_messages: [
    `Messages accepted for all consumers but the ${MAX_CONSUMERS} with the largest backlogs, by what became of them`,
    otherConsumers,
    ['log', 'state'],
  ],
  gateway_unstored_bytes: [
    'Estimated memory of publishes on their way to the store',
    ({ unstoredBytes }) => unstoredBytes(),
  ],
  gateway_unkept_publishes_total: [
    'Publishes that found no room while the store was away',
    ({ unkeptPublishes }) => unkeptPublishes(),
  ],
  gateway_slowed_principals: [
    'Devices and access tokens that are read later than they send, because a limit is reached',
    ({ slowedPrincipals }) => slowedPrincipals(),
  ],
  gateway_too_large_messages_total: [
    'Messages at QoS 0, and retained ones, left out for a client of MQTT 5 that takes no packet so large',
    ({ router }) => router.leftOutCount,
  ],
  gateway_held_back_total: [
    'How often a connection was not read at once because a limit was reached',
    ({ heldBack }) => heldBack(),
  ],
  gateway_lost_denials_total: [
    'Denials and failed logins whose record found no room while the store was away',
    ({ lostDenials }) => lostDenials(),
  ],
  gateway_quota_exceeded_total: [
    'How often a quota was exceeded, by its name',
    ({ exceededQuotas }) => coded(exceededQuotas()),
    ['quota'],
  ],
  gateway_not_stored_total: [
    'Retained messages, invalid publishes and denials not stored, to leave the room to alarms',
    ({ notStored }) => coded(notStored.notStored),
    ['kind'],
  ],
  gateway_invalid_publishes_total: [
    'Publishes that could not be used',
    ({ invalid }) => coded(invalid.counts),
    ['reason'],
  ],
  gateway_build_info: [
    'Always 1; the versions are labels',
    ({ version, runtime }) => [[1, version, runtime]],
    ['version', 'node_version'],
  ],
  gateway_devices_online: ['Devices with a connection', ({ devicesOnline }) => devicesOnline()],
  gateway_connections: ['MQTT connections and event streams', ({ connections }) => connections()],
  gateway_sessions: [
    'Sessions, persistent or not, bridges included',
    ({ sessions }) => sessions.count,
  ],
  gateway_faults: ['Present faults', ({ health }) => health.shown().length],
  gateway_fault: [
    '1 for the code of each present fault',
    ({ health }) =>
      Array.from(new Set(health.shown().map(({ code }) => code)), (code) => [1, code]),
    ['code'],
  ],
  gateway_certificate_expires_timestamp_seconds: [
    'Unix time at which the TLS certificate ends; only with tls',
    ({ certificateEndMs }) => {
      const endMs = certificateEndMs();
      return endMs === undefined ? [] : [[endMs / 1000]];
    },
  ],
  gateway_store_memory_bytes: [
    "The store's memory, as it counts against its limit",
    ({ storeMemory }) => storeMemory().usedBytes,
  ],
  gateway_store_memory_limit_bytes: [
    "The limit of the store's memory (maxmemory), 0 without one",
    ({ storeMemory }) => storeMemory().maxBytes,
  ],
  [LEASE_EPOCH]: [
    'How often a gateway has taken the lease; only with an external store',
    ({ leaseEpoch = 0 }) => leaseEpoch,
  ],
  // Of bridges, in addition to the accounts of their consumers.
  gateway_bridge_connected: [
    '1 while the bridge is connected',
    ofBridges(({ connected }) => [[connected ? 1 : 0]]),
    ['bridge'],
  ],
  gateway_bridge_connected_timestamp_seconds: [
    'Unix time of the connection',
    ofBridges(({ connectedSince }) => time(connectedSince)),
    ['bridge'],
  ],
  gateway_bridge_last_acknowledged_timestamp_seconds: [
    'Unix time at which the upstream last acknowledged a message',
    ofBridges(({ lastAcknowledgedAt }) => time(lastAcknowledgedAt)),
    ['bridge'],
  ],
  gateway_bridge_oldest_queued_timestamp_seconds: [
    'Unix time at which the oldest queued message was received',
    ofBridges(({ oldestQueuedAt }) => time(oldestQueuedAt)),
    ['bridge'],
  ],
  gateway_bridge_dropped_total: [
    'Messages not delivered: too_old, too_many, refused (dead letters) or lost (by the store)',
    ofBridges(({ dropped }) => coded(Object.entries(dropped))),
    ['bridge', 'reason'],
  ],
  gateway_bridge_last_error_timestamp_seconds: [
    'Unix time of the last failure, also when it is over',
    ofBridges(({ lastError }) =>
      lastError === null ? [] : time(lastError.at, labelValue(lastError.kind)),
    ),
    ['bridge', 'kind'],
  ],
};

/** From a read of memory to a page of a long history. */
const REQUEST_BUCKETS_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/** Once for the process, however often it starts to serve: their observers are never removed. */
const processMetrics = new Registry();
/** Node.js looks at its event loop this often; with the default of 10 it is what wakes a box at rest most. */
const EVENT_LOOP_MONITORING_MS = 100;
collectDefaultMetrics({
  register: processMetrics,
  eventLoopMonitoringPrecision: EVENT_LOOP_MONITORING_MS,
});
/** Gauges with the name of a counter; other metrics have the same numbers by kind. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/**
 * Opens the metrics.
 *
 * The registry starts to read all of them in one go, so that the numbers of one answer belong together.
 *
 * @returns also the histogram in which the HTTP interface counts its requests
 */
export function openMetrics(sources: MetricsSources) {
  const registry = new Registry();
  const scrape: Scrape = {
    ...sources,
    bridges: oncePerScrape(sources.bridges),
    consumers: oncePerScrape(async () => {
      await sources.accounts.refresh();
      return rankedConsumers(sources.sessions.persistent());
    }),
  };
  for (const [name, row] of Object.entries(METRICS)) {
    const isAbsent = name === LEASE_EPOCH && sources.leaseEpoch === undefined;
    if (!isAbsent) register(name, row, scrape, registry);
  }
  const { untilRecorded, untilSent } = sources.router.alarmFigures;
  const ofProcess = processMetrics.getMetricsAsArray();
  const observed = ofProcess.flatMap(({ name }) => processMetrics.getSingleMetric(name) ?? []);
  for (const metric of [untilRecorded, untilSent, ...observed]) registry.registerMetric(metric);
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const requestDurations = new Histogram({
    name: 'gateway_http_request_duration_seconds',
    help: 'From the head of a request to the beginning of its answer; unknown paths are one route',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS_SECONDS,
    registers: [registry],
  });
  return { registry, requestDurations };
}

/** Adds a row to the registry, which reads it at each scrape: immediately, unless it is a promise. */
function register(
  name: string,
  [help, read, labelNames = []]: Row,
  scrape: Scrape,
  registry: Registry,
): void {
  const set = (values: Values): void => {
    metric.reset();
    for (const [value, ...labels] of typeof values === 'number' ? [[values] as const] : values) {
      const named = labelNames.map((label, at) => [label, labels[at]]);
      metric.inc(Object.fromEntries(named.filter(([, of]) => of !== undefined)), value);
    }
  };
  const collect = () => {
    const values = read(scrape);
    return values instanceof Promise ? values.then(set) : set(values);
  };
  const configuration = { name, help, labelNames, registers: [registry], collect };
  const metric = name.endsWith('_total') ? new Counter(configuration) : new Gauge(configuration);
}

/** Shares one read among all metrics of a scrape, which are read in one go. */
function oncePerScrape<Value>(read: () => Value): () => Value {
  let last: { readonly value: Value } | undefined;
  return () => {
    if (last === undefined) {
      last = { value: read() };
      queueMicrotask(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

function ofBridges(samplesOf: (bridge: BridgeStatus) => readonly Sample[]): Row[1] {
  return async ({ bridges }) =>
    (await bridges()).flatMap((bridge) =>
      samplesOf(bridge).map(([value, ...labels]): Sample => [value, bridge.name, ...labels]),
    );
}

function ofAccounts(samplesOf: (account: Account) => readonly Sample[]): Row[1] {
  return async ({ consumers }) =>
    (await consumers()).shown.flatMap(({ session: { clientId, consumer }, principal }) =>
      LOG_NAMES.flatMap((log) =>
        samplesOf(consumer.accounts[log]).map(([value, ...labels]): Sample => {
          return [value, clientId, log, principal, ...labels];
        }),
      ),
    );
}

async function otherConsumers({ consumers }: Scrape): Promise<Sample[]> {
  const { others } = await consumers();
  return LOG_NAMES.flatMap((log) =>
    STATES.map((state): Sample => {
      const counts = others.map(({ consumer }) => consumer.accounts[log][state]);
      return [counts.reduce((sum, count) => sum + count, 0), log, state];
    }),
  );
}

type RankedConsumers = ReturnType<typeof rankedConsumers>;

/** Consumers with their labels, the largest backlogs first, and those beyond the bound. */
function rankedConsumers(sessions: readonly ConsumingSession[]) {
  const byBacklog = sessions.toSorted((one, other) => weightOf(other) - weightOf(one));
  // Principals may have the same client id: all except the first get the label of their principal.
  const first = new Map(sessions.toReversed().map((session) => [session.clientId, session]));
  const shown = byBacklog.slice(0, MAX_CONSUMERS).map((session) => {
    const isFirst = first.get(session.clientId) === session;
    return { session, principal: isFirst ? undefined : session.owner.key };
  });
  return { shown, others: byBacklog.slice(MAX_CONSUMERS) };
}

/** The backlog of a session. A bridge or webhook, which is never left out, weighs more than any other. */
function weightOf({ owner, consumer: { queued } }: ConsumingSession): number {
  if (isOutlet(owner.key)) return Number.MAX_SAFE_INTEGER;
  return queued.alarms + queued.messages;
}

function time(time: string | null, ...labels: readonly string[]): Sample[] {
  return time === null ? [] : [[Date.parse(time) / 1000, ...labels]];
}

function coded(counted: Iterable<Counted>): Sample[] {
  return Array.from(counted, ([code, count]) => [count, labelValue(code)]);
}

/** A code of the gateway as the value of a label, in snake_case. */
function labelValue(code: string): string {
  return code.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
