import { Aedes, type Client, type PublishPacket } from 'aedes';
import { writeToStream } from 'mqtt-packet';
import type { BrokerPersistence } from './persistence.js';
import { MAX_CLIENT_ID_BYTES } from './wire/packet-guard.js';

/** The topic of a will that the gateway has taken from Aedes. */
const TAKEN_WILL = 'will';

export interface AedesParts {
  readonly persistence: BrokerPersistence;
  readonly connectTimeoutMs: number;
  /** Resolves once the client may connect; its error refuses the client. */
  readonly authenticate: (client: Client, password: Buffer | undefined) => Promise<void>;
  /** Takes a will that is due. */
  readonly takeWill: (client: Client, will: PublishPacket) => void;
}

/** Creates an Aedes that handles CONNECT and DISCONNECT, keeps wills, and forwards nothing. */
export function createAedes(parts: AedesParts): Aedes {
  const { persistence, connectTimeoutMs, authenticate, takeWill } = parts;
  // It writes CONNACK and PINGRESP only: not worth a buffer for each of 65,536 numbers, 7 MB in all.
  writeToStream.cacheNumbers = false;
  return new Aedes({
    // No `id`: a fixed one corrupts what is stored after a restart (docs/dependency-faults.md, 4).
    persistence,
    connectTimeout: connectTimeoutMs,
    // Aedes would hold clients of MQTT 3.1 to 23 characters [MQTT 3.1, 3.1].
    maxClientsIdLength: MAX_CLIENT_ID_BYTES,
    preConnect: (client, _packet, done) => done(null, !client.closed),
    authenticate: (client, _username, password, done) => {
      authenticate(client, password).then(
        () => done(null, true),
        (error) => done(error, null),
      );
    },
    // Aedes sees no publishes but wills, and no subscriptions (`MqttClient`).
    authorizePublish: (client, will, done) => {
      if (client !== null) takeWill(client, will);
      // Without a subscriber; under `$SYS` it would be an order to Aedes to end any connection.
      will.topic = TAKEN_WILL;
      will.retain = false;
      will.qos = 0;
      done(null);
    },
    authorizeSubscribe: (_client, _subscription, done) => done(null, null),
    authorizeForward: () => null,
  });
}
