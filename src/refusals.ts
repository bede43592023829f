import type { Logger } from 'pino';
import type { Releasers } from './releasers.js';
import type { AuditTrail } from './site/audit-trail.js';
import { AuthenticationRefusals } from './site/authentication-refusals.js';
import { BackgroundAudit } from './site/background-audit.js';
import { PermissionRefusals } from './site/permission-refusals.js';

/** The parts that record denials and failed logins in the audit trail. */
export interface RefusalParts {
  readonly permissionRefusals: PermissionRefusals;
  readonly authenticationRefusals: AuthenticationRefusals;
  readonly backgroundAudit: BackgroundAudit;
}

export interface RefusalsOptions {
  readonly audit: AuditTrail;
  /** The same, but waits for the store as long as it takes. */
  readonly patientAudit: AuditTrail;
  readonly log: Logger;
  readonly releasers: Releasers;
  readonly now: () => number;
  /** A clock that does not jump. */
  readonly steadyNow: () => number;
}

/** Starts recording denials and failed logins. */
export function openRefusals({ releasers, ...options }: RefusalsOptions): RefusalParts {
  const backgroundAudit = new BackgroundAudit(options.audit, options.log);
  releasers.add(() => backgroundAudit.stop());
  const authenticationRefusals = new AuthenticationRefusals({ ...options, audit: backgroundAudit });
  authenticationRefusals.start();
  releasers.add(() => authenticationRefusals.stop());
  const permissionRefusals = new PermissionRefusals(options);
  return { permissionRefusals, authenticationRefusals, backgroundAudit };
}
