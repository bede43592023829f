import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import { firstTokenEntry } from './site/access-tokens.js';
import type { AuditTrail } from './site/audit-trail.js';
import { adminTokenFile, loadAdminToken } from './store/data-directory.js';

export interface FirstAdminOptions {
  readonly config: Config;
  readonly audit: AuditTrail;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * The first administrator's token, configured or generated at the first start (CONTRACT 1, first admin).
 *
 * The log names its file, and never shows the token.
 */
export async function firstAdminToken(options: FirstAdminOptions): Promise<string> {
  const { config, audit, log, now } = options;
  if (config.adminToken !== undefined) return config.adminToken;
  const file = adminTokenFile(config.dataDir);
  return loadAdminToken(config.dataDir, async () => {
    await audit.record([firstTokenEntry(now())]);
    log.info({ file }, "generated the first administrator's token");
  });
}
