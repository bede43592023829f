/** Everything that the HTTP side needs from the rest of the gateway. */

import type { Logger } from 'pino';
import type { Fault } from '../domain/fault.js';
import type { AccessTokens } from '../site/access/access-tokens.js';
import type { ConnectionList } from '../site/access/connection-list.js';
import type { Denials } from '../site/access/denials.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { SessionList } from '../site/access/session-list.js';
import type { AlarmHistory } from '../site/alarms/alarm-history.js';
import type { AlarmStateChanges } from '../site/alarms/alarm-states.js';
import type { Drills } from '../site/alarms/drills.js';
import type { EventStreams } from '../site/alarms/event-streams.js';
import type { InvalidPublishList } from '../site/alarms/invalid-publish-list.js';
import type { TestAlarms } from '../site/alarms/test-alarms.js';
import type { AuditReader, AuditTrail } from '../site/audit-trail.js';
import type { BridgeList, DeadLetterStore } from '../site/bridge-list.js';
import type { Devices } from '../site/devices.js';
import type { Footage } from '../site/footage.js';
import type { FootageFiles } from '../site/footage-store.js';
import type { Groups } from '../site/groups.js';
import type { Locations } from '../site/locations.js';
import type { OutputList } from '../site/output-list.js';
import type { PresenceView } from '../site/presence-view.js';
import type { Rooms } from '../site/rooms.js';
import type { SiteModel } from '../site/site-model.js';
import type { BuiltFiles } from './files.js';

export interface HttpServices {
  readonly locations: Locations;
  readonly groups: Groups;
  readonly rooms: Rooms;
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly model: SiteModel;
  readonly history: AlarmHistory;
  readonly alarmStates: AlarmStateChanges;
  readonly testAlarms: TestAlarms;
  readonly drills: Drills;
  readonly audit: AuditTrail & AuditReader;
  readonly bridges: BridgeList;
  readonly outputs: OutputList;
  readonly deadLetters: Pick<DeadLetterStore, 'list'>;
  readonly denials: Denials;
  readonly watch: QuotaWatch;
  readonly connections: ConnectionList;
  readonly sessions: SessionList;
  readonly events: EventStreams;
  readonly presence: PresenceView;
  /** The devices that have gone silent. */
  readonly supervision: {
    list(): readonly {
      readonly deviceId: string;
      readonly sinceMs: number;
      readonly lastSeenAtMs: number;
    }[];
  };
  readonly invalidPublishes: InvalidPublishList;
  readonly health: { shown(): readonly Fault[]; ready(): boolean };
  readonly footage: Footage;
  /** The recordings served under `/footage/`; undefined when another server serves them. */
  readonly footageFiles: FootageFiles | undefined;
  /** Where recordings are, besides the gateway's own origin. */
  readonly footageOrigins: readonly string[];
  /** The URL at which clients reach the gateway, without a trailing slash; undefined: the Host of each request. */
  readonly publicUrl: string | undefined;
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
