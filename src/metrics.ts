import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Consumer } from './delivery/consumer.js';
import type { Deliveries } from './delivery/deliveries.js';
import { LOG_NAMES } from './delivery/log-entry.js';
import type { InvalidPublishes } from './ingest/invalid-publishes.js';
import type { BridgeStatus } from './site/bridge-list.js';
import type { Health } from './site/health.js';
import type { StoreHeadroom } from './site/store-headroom.js';
import type { StoreMemory } from './store/memory-monitor.js';

export interface MetricsSources {
  readonly deliveries: Deliveries;
  /** The consumers that have metrics of their own. */
  readonly consumers: () => readonly Consumer[];
  readonly invalid: InvalidPublishes;
  readonly health: Health;
  readonly connections: () => number;
  readonly unstoredBytes: () => number;
  readonly unkeptPublishes: () => number;
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

function addConsumers(registry: Registry, { consumers }: MetricsSources): void {
  new Gauge({
    name: 'gateway_consumer_messages',
    help:
      'Messages accepted for a consumer, and their outcome: delivered (acknowledged), ' +
      'queued (unread or in flight), expired (too old), dropped (too many, or dead letters)',
    labelNames: ['consumer', 'log', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, cursors } of consumers()) {
        for (const log of LOG_NAMES) {
          const { accepted, delivered, queued, expired, dropped } = cursors[log];
          const states = { accepted, delivered, queued, expired, dropped };
          for (const [label, count] of Object.entries(states)) {
            this.set({ consumer: name, log, state: label }, count);
          }
        }
      }
    },
  });
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
  const { deliveries, health } = sources;
  single('gateway_connections', 'MQTT connections', sources.connections);
  single('gateway_sessions', 'Sessions, persistent or not', () => deliveries.consumers.size);
  single(
    'gateway_unstored_bytes',
    'Estimated memory of publishes on their way to the store',
    sources.unstoredBytes,
  );
  single(
    'gateway_unkept_publishes',
    'Publishes that found no room while the store was away, since the start',
    sources.unkeptPublishes,
  );
  single(
    'gateway_denials_lost',
    'Denials and failed logins whose record found no room while the store was away, since the start',
    sources.lostDenials,
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
  new Gauge({
    name: 'gateway_not_stored',
    help: 'What was not stored since the start, to leave the room to alarms, by kind',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, count] of sources.notStored.notStored) this.set({ kind }, count);
    },
  });
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
  new Gauge({
    name: 'gateway_invalid_publishes',
    help: 'Invalid publishes since the start, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      for (const [reason, count] of sources.invalid.counts) this.set({ reason }, count);
    },
  });
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
    'gateway_bridge_connected_since_seconds',
    'Unix time of the connection',
    ({ connectedSinceMs }) => [[seconds(connectedSinceMs)]],
  );
  gauge(
    'gateway_bridge_last_acknowledged_seconds',
    'Unix time at which the upstream last acknowledged a message',
    ({ lastAcknowledgedAtMs }) => [[seconds(lastAcknowledgedAtMs)]],
  );
  gauge(
    'gateway_bridge_oldest_queued_seconds',
    'Unix time at which the oldest queued message was received',
    ({ oldestQueuedAtMs }) => [[seconds(oldestQueuedAtMs)]],
  );
  gauge(
    'gateway_bridge_dropped',
    'Expired and dropped messages, by reason',
    ({ dropped: { tooOld, tooMany, refused } }) => [
      [tooOld, { reason: 'tooOld' }],
      [tooMany, { reason: 'tooMany' }],
      [refused, { reason: 'refused' }],
    ],
    ['reason'],
  );
  gauge(
    'gateway_bridge_last_error_seconds',
    'Unix time of the last failure, by kind, even if it is over',
    ({ lastError }) =>
      lastError === null ? [] : [[seconds(lastError.atMs), { kind: lastError.kind }]],
    ['kind'],
  );
}
