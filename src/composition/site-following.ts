import type { Logger } from 'pino';
import type { Device } from '../domain/site.js';
import type { BrokerParts } from './brokering.js';
import type { DeliveryParts } from './delivering.js';
import type { IngestParts } from './ingesting.js';
import type { SiteParts } from './site-loading.js';

/** Ends or renews connections, sessions and retained messages after a change of the site. */
export function followSite(
  { events, accessTokens }: SiteParts,
  { sessions, retained }: DeliveryParts,
  { presence, unreadable, supervision }: IngestParts,
  { broker, forget }: BrokerParts,
  log: Logger,
): void {
  events.on('tokenChanged', (id) => {
    accessTokens.changed(id);
    presence.hubChanged(id);
  });
  events.on('credentialEnded', (principal) => broker.disconnect(principal));
  events.on('principalRemoved', (principal) => {
    forget(principal);
    sessions.discardAllOf(principal).catch((error: unknown) => {
      log.warn({ principal, err: error }, 'failed to tidy up after a change');
    });
  });
  // A command given at the old place must not run at another.
  const forgetRetainedOf = ({ id, locationId }: Device) => retained.forget(id, locationId);
  events.on('deviceDeleted', (device) => {
    presence.removed(device);
    unreadable.succeeded(device.id);
    supervision.removed(device.id);
    forgetRetainedOf(device);
  });
  events.on('deviceMoved', ({ before, after }) => {
    presence.left(before);
    forgetRetainedOf(before);
    presence.changed(after.id);
  });
  events.on('deviceChanged', (deviceId) => presence.changed(deviceId));
}
