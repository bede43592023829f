import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Destination } from './delivery/destination.js';
import { LOG_NAMES } from './delivery/log-entry.js';
import type { Router } from './delivery/router.js';
import type { Rejections } from './ingest/rejections.js';
import type { Health } from './site/health.js';

export interface MetricsSources {
  readonly router: Router;
  /** The destinations that are shown one by one: persistent sessions. */
  readonly destinations: () => readonly Destination[];
  readonly rejections: Rejections;
  readonly health: Health;
  readonly connections: () => number;
  readonly unstoredBytes: () => number;
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
  return registry;
}

function addDestinations(registry: Registry, { destinations }: MetricsSources): void {
  const labelNames = ['destination', 'log'] as const;
  const registers = [registry];
  const accepted = gauge('accepted', 'Messages that were to be delivered, whatever became of them');
  const delivered = gauge('delivered', 'Messages acknowledged');
  const queued = gauge('queued', 'Messages waiting or sent and not acknowledged');
  const fallen = new Gauge({
    name: 'gateway_destination_fallen_out_messages',
    help: 'Messages that fell out of the queue: too old (expired), or too many (dropped)',
    labelNames: [...labelNames, 'reason'],
    registers,
    collect: () => {
      for (const metric of [accepted, delivered, queued, fallen]) metric.reset();
      for (const destination of destinations()) show(destination);
    },
  });

  function gauge(state: string, help: string) {
    const name = `gateway_destination_${state}_messages`;
    return new Gauge({ name, help, labelNames, registers });
  }

  function show({ name, cursors }: Destination): void {
    for (const log of LOG_NAMES) {
      const labels = { destination: name, log };
      const { accepted: all, queued: waiting, state } = cursors[log];
      accepted.set(labels, all);
      delivered.set(labels, state.delivered);
      queued.set(labels, waiting);
      fallen.set({ ...labels, reason: 'expired' }, state.expired);
      fallen.set({ ...labels, reason: 'dropped' }, state.dropped);
    }
  }
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
  single('gateway_unstored_bytes', 'Publishes on their way to the store', sources.unstoredBytes);
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
