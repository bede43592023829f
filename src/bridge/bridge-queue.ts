import type { Consumer } from '../delivery/consumer.js';
import { type OutgoingServices, openOutgoingQueue, outgoingOwner } from '../delivery/outlet.js';
import type { SessionOwner } from '../delivery/sessions/session.js';
import { BRIDGE_CLIENT_ID_PREFIX, type BridgeOptions } from '../domain/bridge-schema.js';
import { selectedFilters } from '../domain/bridge-topics.js';

/** A bridge as the owner of its queue. */
export function bridgeOwner(options: BridgeOptions): SessionOwner {
  // Its filters alone select what it gets.
  return outgoingOwner('bridge', options, () => true, options.isMissing !== true);
}

/** Opens the bridge's queue. A missing bridge keeps its filters. */
export function openQueue(
  services: OutgoingServices,
  options: BridgeOptions,
  signal: AbortSignal,
): Promise<Consumer> {
  const filters = options.isMissing === true ? undefined : selectedFilters(options);
  const clientId = BRIDGE_CLIENT_ID_PREFIX + options.name;
  return openOutgoingQueue(services, bridgeOwner(options), clientId, filters, signal);
}
