/** Opens the site: its model in memory, its changes, and who may do what in it. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { principalLimits } from '../domain/limits.js';
import { ADMIN_TOKEN_FILE, isUsableSecret, loadSecret, unlessMissing } from '../files.js';
import type { Foundation } from '../foundation.js';
import { oneAtATime } from '../releasers.js';
import type { Storage } from '../store/open.js';
import { Denials } from './access/denials.js';
import { QUOTA_CHECK_MS, QuotaWatch } from './access/quota-watch.js';
import { SiteChanges } from './changes.js';
import { Operations } from './operations.js';
import { SiteModel } from './site-model.js';
import { AccessTokens, firstTokenEntry, replacedTokenEntry, TOKEN_USE_SAVED_MS } from './tokens.js';

/** How soon a replaced token of the first administrator is in use. */
const ADMIN_TOKEN_CHECK_MS = 2_000;

/** The site, and who may do what in it. */
export type SiteParts = Awaited<ReturnType<typeof openSite>>;

/** Loads the site. */
export async function openSite(foundation: Foundation, storage: Storage) {
  const { config, log, health, releasers, steady, now, elapsed } = foundation;
  const { site: store, audit, headroom } = storage;
  const adminToken = await firstAdminToken(foundation, storage);
  const denials = new Denials({ audit, headroom, log, now, steadyNow: steady.now });
  denials.start();
  releasers.add(() => denials.stop());
  const model = new SiteModel();
  const changes = new SiteChanges({ store, model, health, headroom, log, now });
  releasers.add(() => changes.stop());
  await changes.start();
  storage.witness.followSite(() => ({ ...model.recordCounts(), change: changes.revision }));
  const { tokenUse: use } = storage;
  const accessTokens = new AccessTokens({ changes, model, adminToken, use, log, now });
  await accessTokens.load();
  if (config.adminToken === undefined) {
    const file = join(config.dataDir, ADMIN_TOKEN_FILE);
    const follow = oneAtATime(async () => {
      try {
        // A file that is gone or damaged leaves the token that is in use.
        const text = (await unlessMissing(readFile(file, 'utf8')))?.trim() ?? '';
        if (!isUsableSecret(text) || accessTokens.isAdmins(text)) return;
        // First: no token is in use without a record.
        await audit.record([replacedTokenEntry(now())]);
        accessTokens.replaceAdmin(text);
      } catch (err) {
        log.warn({ file, err }, "failed to replace the first administrator's token, retrying");
      }
    });
    releasers.every(ADMIN_TOKEN_CHECK_MS, () => void follow());
  }
  releasers.every(TOKEN_USE_SAVED_MS, () => void accessTokens.save());
  releasers.add(() => accessTokens.save());
  const watch = new QuotaWatch({ health, model, log, now: elapsed });
  releasers.every(QUOTA_CHECK_MS, () => watch.check());
  return {
    model,
    changes,
    operations: new Operations(changes, model, now),
    accessTokens,
    limits: principalLimits(config.limits),
    watch,
    denials,
  };
}

/**
 * The first administrator's token, configured or generated at the first start (contract 1, first admin).
 *
 * The log names its file but never shows the token.
 */
async function firstAdminToken(
  { config, log, now }: Foundation,
  { audit }: Pick<Storage, 'audit'>,
): Promise<string> {
  if (config.adminToken !== undefined) return config.adminToken;
  const file = join(config.dataDir, ADMIN_TOKEN_FILE);
  const { text, isNew } = await loadSecret(file, log, () => audit.record([firstTokenEntry(now())]));
  if (isNew) log.info({ file }, "generated the first administrator's token");
  return text;
}
