import type { Bridges } from '../bridge/bridges.js';
import { SessionBacklogs } from '../delivery/session-backlogs.js';
import { createHttpApp } from '../http/app.js';
import type { HttpApp } from '../http/http-env.js';
import { Metrics } from '../metrics/metrics.js';
import type { Outputs } from '../outputs/outputs.js';
import type { BrokerParts } from './brokering.js';
import type { DeliveryParts } from './delivering.js';
import type { EventStreaming } from './event-streaming.js';
import type { FootageParts } from './footage-storage.js';
import type { Foundation } from './foundation.js';
import type { IngestParts } from './ingesting.js';
import type { Installation } from './installation.js';
import { openPages } from './pages.js';
import type { SiteParts } from './site-loading.js';
import type { Storage } from './storage.js';

/** Everything that the HTTP interface and its metrics show. */
export interface ServedParts {
  readonly storage: Storage;
  readonly site: SiteParts;
  readonly delivery: DeliveryParts;
  readonly ingest: IngestParts;
  readonly brokers: BrokerParts;
  readonly bridges: Bridges;
  readonly outputs: Outputs;
  readonly events: EventStreaming;
  readonly footage: FootageParts;
  readonly installation: Installation;
  /** Undefined without TLS. */
  readonly certificateEndMs: () => number | undefined;
}

/** Opens the HTTP interface, still without listeners. */
export function openHttp(foundation: Foundation, parts: ServedParts): HttpApp {
  const { storage, site, delivery, ingest, brokers, bridges, footage, installation } = parts;
  const { config, log, health, now, elapsed, version, runtime } = foundation;
  const { broker, backPressure, slowing } = brokers;
  const metrics = new Metrics({
    deliveries: delivery.deliveries,
    sessions: delivery.sessions,
    accounts: delivery.accounts,
    invalid: ingest.invalid,
    version,
    runtime,
    leaseEpoch: foundation.store?.tenure.epoch,
    devicesOnline: () => ingest.presence.onlineCount,
    exceededQuotas: () => site.watch.counts(),
    health,
    certificateEndMs: parts.certificateEndMs,
    connections: () => broker.connectionCount,
    unstoredBytes: () => backPressure.unstoredBytes,
    unkeptPublishes: () => backPressure.unkeptCount,
    slowedPrincipals: () => slowing.all().length,
    heldBack: () => slowing.times,
    lostDenials: () => site.denials.lost,
    storeMemory: () => storage.memory.memory,
    notStored: storage.headroom,
    bridges: () => bridges.statuses(),
  });
  return createHttpApp({
    locations: site.locations,
    groups: site.groups,
    rooms: site.rooms,
    devices: site.devices,
    accessTokens: site.accessTokens,
    model: site.model,
    history: storage.alarms,
    alarmStates: ingest.alarmStates,
    testAlarms: ingest.testAlarms,
    drills: ingest.drills,
    audit: storage.audit,
    bridges,
    outputs: parts.outputs,
    deadLetters: storage.deadLetters,
    denials: site.denials,
    watch: site.watch,
    knownNetworks: site.knownNetworks,
    connections: broker.connections,
    sessions: new SessionBacklogs(delivery.sessions),
    events: parts.events,
    presence: ingest.presence,
    supervision: ingest.supervision,
    invalidPublishes: storage.invalidPublishes,
    health,
    footage: footage.footage,
    footageFiles: footage.footageFiles,
    publicUrl: config.http.publicUrl,
    allowedOrigins: config.http.allowedOrigins,
    metrics,
    requestDurations: metrics.requestDurations,
    openMetrics: config.http.openMetrics,
    cursorKey: installation.cursorKey,
    maxBodyBytes: config.http.maxBodyBytes,
    pages: { files: openPages(foundation), footageOrigins: footage.origins },
    version,
    log,
    now,
    elapsed,
  });
}
