import type { SessionOwner } from './delivery/session.js';
import { mayReceive } from './domain/grants.js';
import type { Principals } from './site/principals.js';
import type { SiteModel } from './site/site-model.js';

/**
 * The owner of a session whose device or token has an unreadable record (FINDINGS R8).
 *
 * A broken record must not discard a session with its backlog. Nobody can read the backlog meanwhile, as
 * there is no credential to connect with.
 *
 * @returns undefined for any other session
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
    // In a selection of its own, as its permission to receive changes with the record.
    audienceKey: `held/${key}`,
  };
}
