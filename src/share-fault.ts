import type { ProcessorShare } from './processor-share.js';
import { describeHolder } from './site/holder-names.js';
import type { SiteModel } from './site/site-model.js';

export const SHARE_CHECK_MS = 5_000;
/** What one client may use, and how long work may pause: under constant load it pauses half of the time. */
const BUSY_MS = SHARE_CHECK_MS / 4;

/**
 * The fault of HTTP and TLS clients that take much of the processor, or ask for more than their share.
 *
 * To be asked for every `SHARE_CHECK_MS`: what they used since then is forgotten.
 */
export function shareFault(turns: ProcessorShare, model: SiteModel): string | undefined {
  const { pausedMs, usedMs } = turns.takeUsage();
  const [busiest] = [...usedMs].sort(([, one], [, other]) => other - one);
  if (busiest === undefined || Math.max(busiest[1], pausedMs) < BUSY_MS) return undefined;
  return `HTTP and TLS clients take much of the processor, most of all ${describeHolder(model, busiest[0])}.`;
}
