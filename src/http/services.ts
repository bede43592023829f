/** Everything that the HTTP side needs from the rest of the gateway. */

import type { Logger } from 'pino';
import type { Bridges } from '../bridge/bridges.js';
import type { Broker } from '../broker/broker.js';
import type { EventStreams } from '../broker/event-streams.js';
import type { SessionBacklogs } from '../delivery/sessions/session-limits.js';
import type { Finding, Language } from '../domain/fault.js';
import type { FootageFolder } from '../footage/folder.js';
import type { AlarmStates } from '../ingest/alarm-states.js';
import type { Presence } from '../ingest/presence.js';
import type { TestAlarms } from '../ingest/test-alarms.js';
import type { Outputs } from '../outputs/outputs.js';
import type { Denials } from '../site/access/denials.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { Footage } from '../site/footage.js';
import type { Health } from '../site/health/health.js';
import type { Operations } from '../site/operations.js';
import type { SiteModel } from '../site/site-model.js';
import { type AccessTokens, ADMIN_TOKEN_ID } from '../site/tokens.js';
import type { AuditStore } from '../store/audit.js';
import type { AlarmHistory } from '../store/history/alarm-history.js';
import type { Erasure } from '../store/history/erasure.js';
import type { DeadLetterStoreRedis, InvalidPublishStoreRedis } from '../store/lists.js';
import type { Drills } from '../watch/drills.js';
import type { Supervision } from '../watch/supervision.js';
import type { BuiltFiles } from './files.js';

export interface HttpServices {
  readonly operations: Operations;
  readonly accessTokens: AccessTokens;
  readonly model: SiteModel;
  readonly history: AlarmHistory;
  readonly alarmStates: AlarmStates;
  readonly testAlarms: TestAlarms;
  readonly drills: Drills;
  readonly audit: AuditStore;
  readonly bridges: Bridges;
  readonly outputs: Outputs;
  readonly deadLetters: DeadLetterStoreRedis;
  readonly denials: Denials;
  readonly watch: QuotaWatch;
  readonly broker: Broker;
  readonly sessions: SessionBacklogs;
  readonly events: EventStreams;
  readonly presence: Presence;
  readonly supervision: Supervision;
  readonly invalidPublishes: InvalidPublishStoreRedis;
  readonly health: Health;
  readonly erasure: Erasure;
  /** Looks the gateway over. */
  readonly examine: (language: Language) => Promise<readonly Finding[]>;
  readonly footage: Footage;
  /** Deletes a recording for good. @throws GatewayError `store-unavailable` when its server does not answer */
  readonly removeRecording: (key: string) => Promise<void>;
  /** The recordings served under `/footage/`; undefined when another server serves them. */
  readonly footageFiles: FootageFolder | undefined;
  /** Where recordings are, besides the gateway's own origin. */
  readonly footageOrigins: readonly string[];
  /** The URL at which clients reach the gateway, without a trailing slash; undefined: the Host of each request. */
  readonly publicUrl: string | undefined;
  /** The gateway's own certificate authority, PEM; undefined without one. */
  readonly authority: string | undefined;
  /** Whom to tell of a vulnerability, a URI; undefined: nobody is named. */
  readonly securityContact: string | undefined;
  /** Origins of web applications that may call the interface. */
  readonly allowedOrigins: readonly string[];
  /** The metrics in the format of Prometheus, like a registry of prom-client. */
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
  /** A histogram of the time until answers begin, by route and status. */
  readonly requestDurations: {
    observe(
      labels: { readonly method: string; readonly route: string; readonly status: number },
      seconds: number,
    ): void;
  };
  /** Whether other machines need no token for `/metrics`. */
  readonly openMetrics: boolean;
  /** Signs the cursors of the listings; they are valid while the key stays the same. */
  readonly cursorKey: Buffer;
  readonly maxBodyBytes: number;
  readonly files: BuiltFiles;
  readonly version: string;
  readonly log: Logger;
  readonly now: () => number;
  /** A clock that does not jump, for waiting times. */
  readonly elapsed: () => number;
}

/** The present name for an id; null if it has none. */
export function presentNameOf(
  of: string | null,
  { model, accessTokens }: HttpServices,
): string | null {
  if (of === null) return null;
  if (of === ADMIN_TOKEN_ID) return accessTokens.nameOf(of);
  const record = model.location(of) ?? model.group(of) ?? model.room(of) ?? model.device(of);
  return record?.name ?? model.accessToken(of)?.name ?? null;
}
