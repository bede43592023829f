import type { Logger } from 'pino';
import type { BrokerParts } from './brokering.js';
import type { DeliveryParts } from './delivering.js';
import type { Device } from './domain/site.js';
import { deviceTopic, forwardedTopic } from './domain/topics.js';
import type { IngestParts } from './ingesting.js';
import type { SiteParts } from './site-loading.js';

/** Ends or renews connections, sessions and retained messages after a change of the site. */
export function followSite(
  { events }: SiteParts,
  { sessions, forwarder }: DeliveryParts,
  { presence }: IngestParts,
  { broker, forget }: BrokerParts,
  log: Logger,
): void {
  events.on('credentialEnded', (principal) => broker.disconnect(principal));
  events.on('principalRemoved', (principal) => {
    forget(principal);
    sessions.discardAllOf(principal).catch((error: unknown) => {
      log.warn({ principal, err: error }, 'failed to tidy up after a change');
    });
  });
  // One at a time: a device that moves back must not lose its new retained messages.
  let tidying: Promise<void> = Promise.resolve();
  const forgetRetainedOf = ({ id, locationId }: Device) => {
    tidying = tidying.then(async () => {
      // A command given at the old place must not be carried out at another.
      await forwarder.forget(deviceTopic(id, 'commands/#'));
      await forwarder.forget(forwardedTopic(locationId, id, '#'));
    });
    tidying = tidying.catch((error: unknown) => {
      log.warn({ deviceId: id, err: error }, 'failed to tidy up after a device');
    });
  };
  events.on('deviceDeleted', (device) => {
    presence.left(device);
    forgetRetainedOf(device);
  });
  events.on('deviceMoved', ({ before, after }) => {
    presence.left(before);
    tidying = tidying.then(() => presence.changed(after.id));
    forgetRetainedOf(before);
  });
  events.on('deviceChanged', (deviceId) => presence.changed(deviceId));
}
