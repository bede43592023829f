/** Who owns a stored session: a device, an access token, a bridge or a webhook. */
import { bridgeOwner } from './bridge/bridges.js';
import { sessionOwner } from './broker/login.js';
import type { Config } from './config/schema.js';
import { outletName } from './delivery/outlet.js';
import type { SessionOwner } from './delivery/sessions/session.js';
import { missingBridge } from './domain/bridge-schema.js';
import { mayReceive, type Principal } from './domain/grants.js';
import { webhookOwner } from './outputs/webhook.js';
import type { SiteParts } from './site/open.js';
import type { AccessTokens } from './site/tokens.js';

/** Finds the owner of a stored session: a bridge, a webhook, or a principal, even one with an unreadable record. */
export function sessionOwners(
  config: Config,
  witness: { readonly hasLostPrincipals: boolean },
  { model, accessTokens }: SiteParts,
) {
  const bridgeOwnerOf = (key: string): SessionOwner | undefined => {
    const name = outletName('bridge', key);
    const configured = config.bridges.find((bridge) => bridge.name === name);
    return name === undefined ? undefined : bridgeOwner(configured ?? missingBridge(name));
  };
  // The queue of a webhook missing from the configuration stays until it is forgotten like any session.
  const webhookOwnerOf = (key: string): SessionOwner | undefined => {
    const name = outletName('webhook', key);
    if (name === undefined) return undefined;
    return webhookOwner(
      name,
      config.outputs.find((output) => output.name === name),
    );
  };
  const isHeld = (key: string) => witness.hasLostPrincipals || model.isUnreadable(key);
  return (key: string): SessionOwner | undefined => {
    const owner = bridgeOwnerOf(key) ?? webhookOwnerOf(key) ?? ownerOf(accessTokens.byKey(key));
    return owner ?? (isHeld(key) ? heldOwner(key, accessTokens) : undefined);
  };
}

function ownerOf(principal: Principal | undefined): SessionOwner | undefined {
  return principal && sessionOwner(principal);
}

/**
 * The owner of a session whose device or token has an unreadable or lost record.
 *
 * This must not discard the session with its backlog: somebody may restore the record. Until then no credential
 * can connect to it.
 */
function heldOwner(key: string, accessTokens: AccessTokens): SessionOwner {
  return {
    key,
    mayReceive: (audience) => {
      const restored = accessTokens.byKey(key);
      return restored === undefined || mayReceive(restored, audience);
    },
  };
}
