import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Destination } from './delivery/destination.js';
import { LOG_NAMES } from './delivery/log-entry.js';
import type { Router } from './delivery/router.js';
import type { Rejections } from './ingest/rejections.js';
import type { BridgeStatus } from './site/bridge-list.js';
import type { Health } from './site/health.js';

export interface MetricsSources {
  readonly router: Router;
  /** The destinations that are shown one by one. */
  readonly destinations: () => readonly Destination[];
  readonly rejections: Rejections;
  readonly health: Health;
  readonly connections: () => number;
  readonly unstoredBytes: () => number;
  readonly unkeptPublishes: () => number;
  readonly turnedAwayRefusals: () => number;
  readonly lostAuditEntries: () => number;
  readonly bridges: () => Promise<BridgeStatus[]>;
}

/**
 * What `/metrics` shows. Everything is read when it is asked for, from where it is counted, so that
 * the numbers of one answer belong together: for every destination and log
 * `accepted = delivered + queued + expired + dropped` (CONTRACT 4.6).
 */
export function createMetrics(sources: MetricsSources): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addDestinations(registry, sources);
  addGateway(registry, sources);
  addBridges(registry, sources);
  return registry;
}

function addDestinations(registry: Registry, { destinations }: MetricsSources): void {
  new Gauge({
    name: 'gateway_destination_messages',
    help:
      'Messages accepted for a destination, and what became of them: delivered (acknowledged), ' +
      'queued (waiting or in flight), expired (too old), dropped (too many)',
    labelNames: ['destination', 'log', 'state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, cursors } of destinations()) {
        for (const log of LOG_NAMES) {
          const { accepted, queued, state } = cursors[log];
          const { delivered, expired, dropped } = state;
          const states = { accepted, delivered, queued, expired, dropped };
          for (const [label, count] of Object.entries(states)) {
            this.set({ destination: name, log, state: label }, count);
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
  const { router, health } = sources;
  single('gateway_connections', 'MQTT connections', sources.connections);
  single('gateway_destinations', 'Sessions, persistent or not', () => router.destinations.size);
  single(
    'gateway_unstored_bytes',
    'Memory of publishes on their way to the store, about',
    sources.unstoredBytes,
  );
  single(
    'gateway_unkept_publishes',
    'Publishes that found no room while the store was away, since the start',
    sources.unkeptPublishes,
  );
  single(
    'gateway_refusals_turned_away',
    'Requests and packets of whoever was refused too much, told to wait, since the start',
    sources.turnedAwayRefusals,
  );
  single(
    'gateway_audit_entries_lost',
    'Invalid credentials whose record found no room while the store was away, since the start',
    sources.lostAuditEntries,
  );
  single('gateway_faults', 'What is wrong now, see gateway/status', () => health.faults().length);
  new Gauge({
    name: 'gateway_log_last_sequence',
    help: 'The number of the newest entry of a log',
    labelNames: ['log'],
    registers,
    collect() {
      for (const log of LOG_NAMES) this.set({ log }, router.tails[log].last);
    },
  });
  new Gauge({
    name: 'gateway_rejected_publishes',
    help: 'Publishes that could not be used since the start, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      for (const [reason, count] of sources.rejections.counts) this.set({ reason }, count);
    },
  });
}

type Labels = Readonly<Record<string, string>>;

/** What a bridge shows beside the counts of its destination, which are above. */
function addBridges(registry: Registry, sources: MetricsSources): void {
  let asked: Promise<BridgeStatus[]> | undefined;
  // Once for all that are read at the same time.
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
  gauge('gateway_bridge_connected', '1 while it has a connection', ({ connected }) => [
    [connected ? 1 : 0],
  ]);
  gauge('gateway_bridge_connected_since_seconds', 'Unix time', ({ connectedSinceMs }) => [
    [seconds(connectedSinceMs)],
  ]);
  gauge(
    'gateway_bridge_last_acknowledged_seconds',
    'Unix time at which the upstream last acknowledged a message',
    ({ lastAcknowledgedAtMs }) => [[seconds(lastAcknowledgedAtMs)]],
  );
  gauge(
    'gateway_bridge_oldest_queued_seconds',
    'Unix time at which the oldest message that waits was received',
    ({ oldestQueuedAtMs }) => [[seconds(oldestQueuedAtMs)]],
  );
  gauge(
    'gateway_bridge_dropped',
    'Messages that were not delivered, by reason',
    ({ dropped: { tooOld, tooMany, refused } }) => [
      [tooOld, { reason: 'tooOld' }],
      [tooMany, { reason: 'tooMany' }],
      [refused, { reason: 'refused' }],
    ],
    ['reason'],
  );
  gauge(
    'gateway_bridge_last_error_seconds',
    'Unix time of the last failure, by its kind, also when it is over',
    ({ lastError }) =>
      lastError === null ? [] : [[seconds(lastError.atMs), { kind: lastError.kind }]],
    ['kind'],
  );
}
