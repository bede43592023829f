import { FootageQuota } from '../../src/footage/footage-quota.js';
import { QuotaWatch } from '../../src/site/access/quota-watch.js';
import { Health } from '../../src/site/health/health.js';
import { SiteModel } from '../../src/site/site-model.js';
import { silent } from '../delivery/running-delivery.js';

/** The quota of a folder whose devices may keep as much as they like, or this much. */
export function quotaOf(directory: string, maxBytes = Number.MAX_SAFE_INTEGER): FootageQuota {
  const watch = new QuotaWatch({
    health: new Health(),
    model: new SiteModel(),
    log: silent,
    now: () => performance.now(),
  });
  return new FootageQuota({ directory, watch, maxBytesOf: () => maxBytes });
}
