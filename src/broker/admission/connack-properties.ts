import { deviceTopic } from '../../domain/topics.js';
import type { Properties } from '../../mqtt/properties.js';
import type { Connection } from '../connection.js';
import { MAX_TOPIC_ALIASES } from '../wire/topic-aliases.js';
import type { ConnectRequest } from './connect-request.js';

/** What CONNACK tells a client that speaks MQTT 5 (3.2.2.3): each limit, and whatever differs from its wishes. */
export function connackProperties({
  connection,
  request,
  maxPacketBytes,
}: {
  readonly connection: Connection;
  readonly request: ConnectRequest;
  readonly maxPacketBytes: number;
}): Properties {
  const { session, keepAliveMs, principal } = connection;
  const properties: Properties = {
    maximumPacketBytes: maxPacketBytes,
    topicAliasMaximum: MAX_TOPIC_ALIASES,
    sharedSubscriptionAvailable: 0,
  };
  const keepAliveSeconds = Math.ceil(keepAliveMs / 1_000);
  if (keepAliveSeconds !== request.keepAliveSeconds) {
    properties.serverKeepAliveSeconds = keepAliveSeconds;
  }
  if (request.isNamedByGateway) properties.assignedClientIdentifier = session.clientId;
  const { expirySeconds } = session;
  if (expirySeconds !== undefined && expirySeconds !== request.sessionExpirySeconds) {
    properties.sessionExpirySeconds = expirySeconds;
  }
  // Where a device can be answered: on its commands, which nobody else receives.
  if (request.wantsResponseInformation && principal.type === 'device') {
    properties.responseInformation = deviceTopic(principal.id, 'commands/');
  }
  return properties;
}
