/** Puts together what the HTTP interface and its metrics show. */
import type { Bridges } from './bridge/bridges.js';
import type { EventStreams } from './broker/event-streams.js';
import type { BrokerParts } from './broker/open.js';
import type { DeliveryParts } from './delivery/open.js';
import { SessionBacklogs } from './delivery/sessions/session-limits.js';
import type { Installation } from './files.js';
import type { FootageParts } from './footage/open.js';
import type { Foundation } from './foundation.js';
import { createHttpApp } from './http/app.js';
import { BuiltFiles } from './http/files.js';
import type { HttpApp } from './http/frame.js';
import type { HttpServices } from './http/services.js';
import type { IngestParts } from './ingest/open.js';
import { openMetrics } from './metrics/metrics.js';
import type { Outputs } from './outputs/outputs.js';
import type { SiteParts } from './site/open.js';
import type { Storage } from './store/open.js';
import type { WatchParts } from './watch/open.js';

/** Everything that the HTTP interface and its metrics show. */
export interface ServedParts {
  readonly storage: Storage;
  readonly site: SiteParts;
  readonly delivery: DeliveryParts;
  readonly ingest: IngestParts;
  readonly watch: WatchParts;
  readonly brokers: BrokerParts;
  readonly bridges: Bridges;
  readonly outputs: Outputs;
  readonly events: EventStreams;
  readonly footage: FootageParts;
  readonly installation: Installation;
  /** Undefined without TLS. */
  readonly certificateEndMs: () => number | undefined;
  /** The gateway's own certificate authority, PEM; undefined without one. */
  readonly authority: string | undefined;
  readonly examine: HttpServices['examine'];
}

/** Opens the HTTP interface, still without listeners. */
export function openHttp(foundation: Foundation, parts: ServedParts): HttpApp {
  const { storage, site, delivery, ingest, brokers, bridges, footage, installation } = parts;
  const { authority } = parts;
  const { config, log, health, now, elapsed, version, runtime } = foundation;
  const { broker, flows } = brokers;
  const { registry, requestDurations } = openMetrics({
    router: delivery.router,
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
    unstoredBytes: () => flows.unstoredBytes,
    unkeptPublishes: () => flows.unkeptCount,
    slowedPrincipals: () => flows.slowedCount(performance.now()),
    heldBack: () => flows.heldBackCount,
    lostDenials: () => site.denials.lost,
    storeMemory: () => storage.memory.memory,
    notStored: storage.headroom,
    bridges: () => bridges.statuses(),
  });
  return createHttpApp({
    operations: site.operations,
    accessTokens: site.accessTokens,
    model: site.model,
    history: storage.alarms,
    alarmStates: ingest.alarmStates,
    testAlarms: ingest.testAlarms,
    drills: parts.watch.drills,
    audit: storage.audit,
    bridges,
    outputs: parts.outputs,
    deadLetters: storage.deadLetters,
    denials: site.denials,
    watch: site.watch,
    broker,
    sessions: new SessionBacklogs(delivery.sessions),
    events: parts.events,
    presence: ingest.presence,
    supervision: parts.watch.supervision,
    invalidPublishes: storage.invalidPublishes,
    health,
    erasure: storage.erasure,
    examine: parts.examine,
    footage: footage.footage,
    removeRecording: footage.removeRecording,
    footageFiles: footage.footageFiles,
    publicUrl: config.http.publicUrl,
    allowedOrigins: config.http.allowedOrigins,
    metrics: registry,
    requestDurations,
    openMetrics: config.http.openMetrics,
    cursorKey: installation.cursorKey,
    maxBodyBytes: config.http.maxBodyBytes,
    files: new BuiltFiles(foundation.consoleDirectory, portsOf(config), authority !== undefined),
    authority,
    securityContact: config.http.securityContact,
    footageOrigins: footage.origins,
    version,
    log,
    now,
    elapsed,
  });
}

/** The ports as configured; for 0, which stands for any free one, the usual port. */
function portsOf({ mqtt, http }: Foundation['config']) {
  return {
    mqtt: mqtt.port || 1883,
    mqtts: mqtt.tlsPort || 8883,
    webSocket: http.port || 8080,
    secureWebSocket: http.tlsPort || 8443,
  };
}
