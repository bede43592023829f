import type { SessionOwner } from './delivery/session.js';
import { mayReceive } from './domain/grants.js';
import type { Principals } from './site/principals.js';
import type { SiteModel } from './site/site-model.js';

/**
 * The owner of a stored session whose device or token exists, but has an unreadable record (FINDINGS
 * R8); undefined for any other. A session must not be discarded with all that waits in it because one
 * record is broken. Nothing is shown to anyone meanwhile: there is no credential to connect with.
 */
export function heldOwner(
  key: string,
  model: SiteModel,
  principals: Principals,
): SessionOwner | undefined {
  if (!model.isUnreadable(key)) return undefined;
  return {
    key,
    mayReceive: (audience) => {
      const restored = principals.byKey(key);
      return restored === undefined || mayReceive(restored, audience);
    },
    // A selection of its own: whether it may receive a message changes with the record.
    audienceKey: `held/${key}`,
  };
}
