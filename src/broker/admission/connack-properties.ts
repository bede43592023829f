import { deviceTopic } from '../../domain/topics.js';
import type { Properties } from '../../mqtt/properties.js';
import type { Connection } from '../connection.js';
import { MAX_TOPIC_ALIASES } from '../wire/topic-aliases.js';
import type { ConnectRequest } from './connect-request.js';

/** The properties of CONNACK (MQTT 5, 3.2.2.3): the gateway's limits, and each value that differs from the request. */
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
  // A device receives answers on its command topics.
  if (request.wantsResponseInformation && principal.type === 'device') {
    properties.responseInformation = deviceTopic(principal.id, 'commands/');
  }
  return properties;
}
