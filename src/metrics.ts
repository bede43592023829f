import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Deliveries } from './delivery/deliveries.js';
import { LOG_NAMES } from './delivery/log-entry.js';
import type { ConsumingSession } from './delivery/session.js';
import type { Sessions } from './delivery/sessions.js';
import type { InvalidPublishes } from './ingest/invalid-publishes.js';
import type { BridgeStatus } from './site/bridge-list.js';
import type { Health } from './site/health.js';
import type { StoreHeadroom } from './site/store-headroom.js';
import type { StoreMemory } from './store/memory-monitor.js';

export interface MetricsSources {
  readonly deliveries: Deliveries;
  /** `withConsumers`: the sessions whose consumers have metrics. */
  readonly sessions: Pick<Sessions, 'count' | 'withConsumers'>;
  readonly exceededQuotas: () => readonly (readonly [quota: string, count: number])[];
  readonly invalid: InvalidPublishes;
  readonly version: string;
  readonly devicesOnline: () => number;
  readonly health: Health;
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

/**
 * Builds the metrics of `/metrics`.
 *
 * Values are read on request, where they are counted, so that the numbers of one answer belong
 * together: for every consumer and log `accepted = delivered + queued + expired + dropped`
 * (CONTRACT 4.6).
 */
export function createMetrics(sources: MetricsSources): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addConsumers(registry, sources);
  addGateway(registry, sources);
  addBridges(registry, sources);
  return registry;
}

/** Consumers with series of their own; a scrape must not hold up alarms (FINDINGS S7). */
const MAX_CONSUMERS = 250;
const STATES = ['accepted', 'delivered', 'queued', 'expired', 'dropped'] as const;

function addConsumers(registry: Registry, { sessions }: MetricsSources): void {
  let others: readonly ConsumingSession[] = [];
  new Gauge({
    name: 'gateway_consumer_messages',
    help:
      'Messages accepted for a consumer, and their outcome: delivered (acknowledged), ' +
      'queued (unread or in flight), expired (too old), dropped (too many, or dead letters)',
    labelNames: ['consumer', 'log', 'state', 'principal'],
    registers: [registry],
    collect() {
      this.reset();
      const all = sessions.withConsumers();
      const byBacklog = all.toSorted((one, other) => weightOf(other) - weightOf(one));
      others = byBacklog.slice(MAX_CONSUMERS);
      // Principals may have the same client id: all but the first bear their names.
      const first = new Map(all.toReversed().map((session) => [session.clientId, session]));
      for (const session of byBacklog.slice(0, MAX_CONSUMERS)) {
        const { clientId, owner, consumer } = session;
        const principal = first.get(clientId) === session ? {} : { principal: owner.key };
        for (const log of LOG_NAMES) {
          for (const state of STATES) {
            const labels = { consumer: clientId, log, state, ...principal };
            this.set(labels, consumer.cursors[log][state]);
          }
        }
      }
    },
  });
  new Gauge({
    name: 'gateway_other_consumers_messages',
    help: `The same in sum, of all consumers but the ${MAX_CONSUMERS} with the largest backlogs`,
    labelNames: ['log', 'state'],
    registers: [registry],
    collect() {
      for (const log of LOG_NAMES) {
        for (const state of STATES) {
          const sum = others.reduce(
            (total, { consumer }) => total + consumer.cursors[log][state],
            0,
          );
          this.set({ log, state }, sum);
        }
      }
    },
  });
}

/** The backlog of a session; of a bridge, which is never left out, more than any. */
function weightOf({ owner, consumer: { cursors } }: ConsumingSession): number {
  if (owner.isKept === true) return Number.MAX_SAFE_INTEGER;
  return cursors.alarms.queued + cursors.messages.queued;
}

function addGateway(registry: Registry, sources: MetricsSources): void {
  const registers = [registry];
  const single = (name: string, help: string, value: () => number) => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  };
  const counter = (
    name: string,
    help: string,
    label: string,
    values: () => Iterable<readonly [value: string, count: number]>,
  ) => {
    new Counter({
      ...{ name, help, registers, labelNames: [label] },
      collect() {
        this.reset();
        for (const [value, count] of values()) this.inc({ [label]: labelValue(value) }, count);
      },
    });
  };
  const total = (name: string, help: string, count: () => number) => {
    new Counter({
      ...{ name, help, registers },
      collect() {
        this.reset();
        this.inc(count());
      },
    });
  };
  const { deliveries, health, sessions, version } = sources;
  new Gauge({
    ...{ name: 'gateway_build_info', help: 'Always 1; the version is a label', registers },
    labelNames: ['version', 'node_version'],
  }).set({ version, node_version: process.version }, 1);
  single('gateway_devices_online', 'Devices with a connection', sources.devicesOnline);
  single('gateway_connections', 'MQTT connections', sources.connections);
  single('gateway_sessions', 'Sessions, persistent or not', () => sessions.count);
  single(
    'gateway_unstored_bytes',
    'Estimated memory of publishes on their way to the store',
    sources.unstoredBytes,
  );
  total(
    'gateway_unkept_publishes_total',
    'Publishes that found no room while the store was away',
    sources.unkeptPublishes,
  );
  single(
    'gateway_slowed_principals',
    'Devices and access tokens that are read later than they send, because a limit is reached',
    sources.slowedPrincipals,
  );
  total(
    'gateway_held_back_total',
    'How often a connection was not read at once because a limit was reached',
    sources.heldBack,
  );
  total(
    'gateway_lost_denials_total',
    'Denials and failed logins whose record found no room while the store was away',
    sources.lostDenials,
  );
  counter(
    'gateway_quota_exceeded_total',
    'How often a quota was exceeded',
    'quota',
    sources.exceededQuotas,
  );
  single(
    'gateway_store_memory_bytes',
    "The store's memory, as it counts against its limit",
    () => sources.storeMemory().usedBytes,
  );
  single(
    'gateway_store_memory_limit_bytes',
    "The limit of the store's memory (maxmemory), 0 without one",
    () => sources.storeMemory().maxBytes,
  );
  counter(
    'gateway_not_stored_total',
    'What was not stored, to leave the room to alarms, by kind',
    'kind',
    () => sources.notStored.notStored,
  );
  single('gateway_faults', 'Present faults, see gateway/status', () => health.faults().length);
  new Gauge({
    name: 'gateway_log_last_sequence',
    help: 'The number of the newest entry of a log',
    labelNames: ['log'],
    registers,
    collect() {
      for (const log of LOG_NAMES) this.set({ log }, deliveries.tails[log].last);
    },
  });
  counter(
    'gateway_invalid_publishes_total',
    'Invalid publishes, by reason',
    'reason',
    () => sources.invalid.counts,
  );
}

/** A code of the gateway as the value of a label. */
function labelValue(code: string): string {
  return code.replaceAll('-', '_');
}

type Labels = Readonly<Record<string, string>>;

/** Metrics of bridges beside the counts of their consumers, which are above. */
function addBridges(registry: Registry, sources: MetricsSources): void {
  let asked: Promise<BridgeStatus[]> | undefined;
  // One read serves all metrics of a request.
  const bridges = () => {
    asked ??= sources.bridges().finally(() => {
      asked = undefined;
    });
    return asked;
  };
  const gauge = (
    name: string,
    help: string,
    valuesOf: (
      bridge: BridgeStatus,
    ) => readonly (readonly [value: number | null, labels?: Labels])[],
    labelNames: readonly string[] = [],
  ) => {
    new Gauge({
      name,
      help,
      labelNames: ['bridge', ...labelNames],
      registers: [registry],
      async collect() {
        this.reset();
        for (const bridge of await bridges()) {
          for (const [value, labels] of valuesOf(bridge)) {
            if (value !== null) this.set({ bridge: bridge.name, ...labels }, value);
          }
        }
      },
    });
  };
  const seconds = (timeMs: number | null) => timeMs && timeMs / 1000;
  gauge('gateway_bridge_connected', '1 while the bridge is connected', ({ connected }) => [
    [connected ? 1 : 0],
  ]);
  gauge(
    'gateway_bridge_connected_timestamp_seconds',
    'Unix time of the connection',
    ({ connectedSinceMs }) => [[seconds(connectedSinceMs)]],
  );
  gauge(
    'gateway_bridge_last_acknowledged_timestamp_seconds',
    'Unix time at which the upstream last acknowledged a message',
    ({ lastAcknowledgedAtMs }) => [[seconds(lastAcknowledgedAtMs)]],
  );
  gauge(
    'gateway_bridge_oldest_queued_timestamp_seconds',
    'Unix time at which the oldest queued message was received',
    ({ oldestQueuedAtMs }) => [[seconds(oldestQueuedAtMs)]],
  );
  new Counter({
    name: 'gateway_bridge_dropped_total',
    help: 'Expired and dropped messages, by reason',
    labelNames: ['bridge', 'reason'],
    registers: [registry],
    async collect() {
      this.reset();
      for (const { name, dropped } of await bridges()) {
        this.inc({ bridge: name, reason: 'too_old' }, dropped.tooOld);
        this.inc({ bridge: name, reason: 'too_many' }, dropped.tooMany);
        this.inc({ bridge: name, reason: 'refused' }, dropped.refused);
      }
    },
  });
  gauge(
    'gateway_bridge_last_error_timestamp_seconds',
    'Unix time of the last failure, by kind, even if it is over',
    ({ lastError }) =>
      lastError === null ? [] : [[seconds(lastError.atMs), { kind: labelValue(lastError.kind) }]],
    ['kind'],
  );
}
