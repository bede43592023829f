import type { Logger } from 'pino';
import type { MqttBroker } from './broker/mqtt-broker.js';
import type { Forwarder } from './delivery/forwarder.js';
import type { Sessions } from './delivery/sessions.js';
import type { Device } from './domain/site.js';
import { deviceTopic, forwardedTopic } from './domain/topics.js';
import type { Presence } from './ingest/presence.js';
import type { SiteEvents } from './site/site-events.js';

export interface SiteFollowers {
  readonly events: SiteEvents;
  readonly sessions: Sessions;
  readonly forwarder: Forwarder;
  readonly presence: Presence;
  readonly broker: MqttBroker;
  readonly log: Logger;
}

/** Ends or renews connections, sessions and retained messages after a change of the site. */
export function followSite(followers: SiteFollowers): void {
  const { events, sessions, forwarder, presence, broker, log } = followers;
  events.on('credentialEnded', (principal) => broker.disconnect(principal));
  events.on('principalRemoved', (principal) => {
    broker.forget(principal);
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
