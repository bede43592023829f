import type { MiddlewareHandler } from 'hono';
import type { Access } from '../access.js';
import type { AlarmCursors } from '../alarm-cursor.js';
import type { AuditCursors } from '../audit-cursor.js';
import type { Coverage } from '../coverage.js';
import type { HttpDependencies } from '../dependencies.js';
import type { Existence } from '../existence.js';
import type { HttpEnv } from '../http-env.js';

/** Services for the routes of every resource. */
export interface RouteServices extends HttpDependencies {
  readonly access: Access;
  readonly coverage: Coverage;
  readonly existence: Existence;
  readonly cursors: AlarmCursors;
  readonly auditCursors: AuditCursors;
  /** Runs before the validators of every route with a JSON body. */
  readonly readsJson: MiddlewareHandler<HttpEnv>;
}
