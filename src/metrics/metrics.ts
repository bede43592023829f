import { Histogram } from 'prom-client';
import type { AccountReader, Durations } from '../delivery/accounts.js';
import type { Router } from '../delivery/router.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { InvalidPublishes } from '../ingest/invalid-publishes.js';
import type { BridgeStatus } from '../site/bridge-list.js';
import type { Health } from '../site/health/health.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import type { StoreMemory } from '../store/server/watch.js';
import { addConsumerMetrics } from './consumer-metrics.js';
import { type Labels, labelValue, oncePerScrape, type Sample, Scraped } from './scraped.js';

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

/** For HTTP requests, in seconds: from a read of memory to a page of a long history. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** The metrics of `/metrics`, read on demand where they are counted. */
export class Metrics extends Scraped {
  readonly requestDurations: Histogram<'method' | 'route' | 'status'>;

  constructor(sources: MetricsSources) {
    super();
    this.addProcess();
    addConsumerMetrics(this, sources.sessions, sources.accounts);
    this.#addAlarms(sources.router);
    this.#addLimits(sources);
    this.#addGateway(sources);
    this.#addBridges(sources);
    this.requestDurations = new Histogram({
      name: 'gateway_http_request_duration_seconds',
      help: 'From the head of a request to the beginning of its answer; unknown paths are one route',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS,
      registers: [this.registry],
    });
  }

  #addAlarms(router: Router): void {
    const { counts, untilRecorded, untilSent } = router.alarmFigures;
    this.counter('gateway_alarms_total', 'Alarms recorded', () => byLabel('kind', counts), [
      'kind',
    ]);
    this.#durations(
      'gateway_alarm_record_duration_seconds',
      'From the receipt of an alarm to its record',
      untilRecorded,
    );
    this.#durations(
      'gateway_alarm_first_delivery_duration_seconds',
      'From the receipt of an alarm until it was first sent to a subscriber or bridge, live copies included',
      untilSent,
    );
    this.gauge(
      'gateway_log_last_sequence',
      'The number of the newest entry of the history',
      () => [[router.numbers.known, { log: 'alarms' }]],
      ['log'],
    );
  }

  #durations(name: string, help: string, durations: Durations): void {
    const bounds = durations.counts.slice(1).map((_, exponent) => 2 ** exponent / 1000);
    this.histogram(name, help, () => ({
      counts: durations.counts,
      bounds,
      sum: durations.sumMs / 1000,
    }));
  }

  #addGateway(sources: MetricsSources): void {
    const { health, sessions, version, runtime, storeMemory, leaseEpoch } = sources;
    this.gauge(
      'gateway_build_info',
      'Always 1; the versions are labels',
      () => [[1, { version, node_version: runtime }]],
      ['version', 'node_version'],
    );
    this.gauge('gateway_devices_online', 'Devices with a connection', sources.devicesOnline);
    this.gauge('gateway_connections', 'MQTT connections and event streams', sources.connections);
    this.gauge(
      'gateway_sessions',
      'Sessions, persistent or not, bridges included',
      () => sessions.count,
    );
    this.gauge('gateway_faults', 'Present faults', () => health.shown().length);
    const codes = () => [...new Set(health.shown().map(({ code }) => code))];
    this.gauge(
      'gateway_fault',
      '1 for the code of each present fault',
      () => codes().map((code): Sample => [1, { code }]),
      ['code'],
    );
    this.gauge(
      'gateway_certificate_expires_timestamp_seconds',
      'Unix time at which the TLS certificate ends; only with tls',
      () => {
        const endMs = sources.certificateEndMs();
        return endMs === undefined ? [] : [[endMs / 1000]];
      },
    );
    this.#addStore(storeMemory, leaseEpoch);
  }

  #addStore(memory: () => StoreMemory, leaseEpoch: number | undefined): void {
    const used = "The store's memory, as it counts against its limit";
    this.gauge('gateway_store_memory_bytes', used, () => memory().usedBytes);
    const limit = "The limit of the store's memory (maxmemory), 0 without one";
    this.gauge('gateway_store_memory_limit_bytes', limit, () => memory().maxBytes);
    if (leaseEpoch === undefined) return;
    this.gauge(
      'gateway_lease_epoch',
      'How often a gateway has taken the lease; only with an external store',
      () => leaseEpoch,
    );
  }

  #addLimits(sources: MetricsSources): void {
    this.gauge(
      'gateway_unstored_bytes',
      'Estimated memory of publishes on their way to the store',
      sources.unstoredBytes,
    );
    this.counter(
      'gateway_unkept_publishes_total',
      'Publishes that found no room while the store was away',
      sources.unkeptPublishes,
    );
    this.gauge(
      'gateway_slowed_principals',
      'Devices and access tokens that are read later than they send, because a limit is reached',
      sources.slowedPrincipals,
    );
    this.counter(
      'gateway_too_large_messages_total',
      'Messages at QoS 0, and retained ones, left out for a client of MQTT 5 that takes no packet so large',
      () => sources.router.leftOutCount,
    );
    this.counter(
      'gateway_held_back_total',
      'How often a connection was not read at once because a limit was reached',
      sources.heldBack,
    );
    this.counter(
      'gateway_lost_denials_total',
      'Denials and failed logins whose record found no room while the store was away',
      sources.lostDenials,
    );
    this.counter(
      'gateway_quota_exceeded_total',
      'How often a quota was exceeded, by its name',
      () => byLabel('quota', sources.exceededQuotas()),
      ['quota'],
    );
    this.counter(
      'gateway_not_stored_total',
      'Retained messages, invalid publishes and denials not stored, to leave the room to alarms',
      () => byLabel('kind', sources.notStored.notStored),
      ['kind'],
    );
    this.counter(
      'gateway_invalid_publishes_total',
      'Publishes that could not be used',
      () => byLabel('reason', sources.invalid.counts),
      ['reason'],
    );
  }

  /** Metrics of bridges, in addition to the counts of their consumers above. */
  #addBridges(sources: MetricsSources): void {
    const bridges = oncePerScrape(sources.bridges);
    const each = (samplesOf: (bridge: BridgeStatus) => readonly Sample[]) => async () =>
      (await bridges()).flatMap((bridge) =>
        samplesOf(bridge).map(
          ([value, labels]): Sample => [value, { bridge: bridge.name, ...labels }],
        ),
      );
    const time = (timeMs: number | null, labels?: Labels): Sample[] =>
      timeMs === null ? [] : [[timeMs / 1000, labels]];
    this.gauge(
      'gateway_bridge_connected',
      '1 while the bridge is connected',
      each(({ connected }) => [[connected ? 1 : 0]]),
      ['bridge'],
    );
    this.gauge(
      'gateway_bridge_connected_timestamp_seconds',
      'Unix time of the connection',
      each(({ connectedSinceMs }) => time(connectedSinceMs)),
      ['bridge'],
    );
    this.gauge(
      'gateway_bridge_last_acknowledged_timestamp_seconds',
      'Unix time at which the upstream last acknowledged a message',
      each(({ lastAcknowledgedAtMs }) => time(lastAcknowledgedAtMs)),
      ['bridge'],
    );
    this.gauge(
      'gateway_bridge_oldest_queued_timestamp_seconds',
      'Unix time at which the oldest queued message was received',
      each(({ oldestQueuedAtMs }) => time(oldestQueuedAtMs)),
      ['bridge'],
    );
    this.counter(
      'gateway_bridge_dropped_total',
      'Messages not delivered: too_old, too_many, refused (dead letters) or lost (by the store)',
      each(({ dropped }) => byLabel('reason', Object.entries(dropped))),
      ['bridge', 'reason'],
    );
    this.gauge(
      'gateway_bridge_last_error_timestamp_seconds',
      'Unix time of the last failure, also when it is over',
      each(({ lastError }) =>
        time(lastError?.atMs ?? null, { kind: labelValue(lastError?.kind ?? '') }),
      ),
      ['bridge', 'kind'],
    );
  }
}

function byLabel(label: string, counted: Iterable<Counted>): Sample[] {
  return Array.from(counted, ([value, count]) => [count, { [label]: labelValue(value) }]);
}
