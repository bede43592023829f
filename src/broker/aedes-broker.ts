import { Duplex } from 'node:stream';
import { Aedes } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';
import { BrokerPersistence } from './persistence.js';

/** MQTT 3.1.1, 3.14. */
const DISCONNECT = Buffer.from([0xe0, 0]);
/** Stands in for a client's will; the connection keeps the real one. */
const WILL = { topic: 'will', payload: 'will', qos: 0, retain: false } as const;
const PROTOCOL = { protocolId: 'MQTT', protocolVersion: 4 } as const;

/** Events that Aedes raises for a client. */
export interface PipeEvents {
  /** Called once no other client has its id. */
  readonly onAccepted: () => void;
  /** Called when its will is due. */
  readonly onWill: () => void;
  /** Called when another client takes its id, or Aedes closes. */
  readonly onEnd: () => void;
}

/**
 * The network connection of a client as Aedes sees it: CONNECT, DISCONNECT and the end.
 *
 * Aedes knows an authenticated client by its session. All other traffic bypasses Aedes, in both directions.
 */
export class AedesPipe extends Duplex {
  readonly events: PipeEvents;
  #isDisconnecting = false;

  constructor(events: PipeEvents) {
    super();
    this.events = events;
  }

  /** Announces the client; Aedes ends any other with this id [MQTT-3.1.4-2]. */
  connect(clientId: string, hasWill: boolean): void {
    const will = hasWill ? { will: WILL } : {};
    this.push(
      generate({ cmd: 'connect', ...PROTOCOL, clean: true, clientId, keepalive: 0, ...will }),
    );
  }

  /** Ends the client without its will [MQTT-3.14.4-3]. */
  disconnect(): void {
    this.#isDisconnecting = true;
    this.push(DISCONNECT);
  }

  /** Ends the client, with its will unless it has sent a DISCONNECT that drops it. */
  leave(): void {
    if (!this.#isDisconnecting) this.destroy();
  }

  override _read(): void {
    // `connect` and `disconnect` push.
  }

  /** Drops CONNACK: `onAccepted` reports it. */
  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    done(error);
    this.events.onEnd();
  }
}

/** Creates an Aedes that registers clients, and keeps their wills. */
export function createAedes(): Aedes {
  // Aedes writes only CONNACK: that is not worth a buffer for each of 65,536 numbers, 7 MB in all.
  writeToStream.cacheNumbers = false;
  const aedes = new Aedes({
    // No `id`: a fixed one corrupts stored data after a restart (docs/internals/dependency-faults.md, 4).
    persistence: new BrokerPersistence(),
    // The error stops Aedes from publishing the will as well.
    authorizePublish: (client, _will, done) => {
      if (client?.conn instanceof AedesPipe) client.conn.events.onWill();
      done(TAKEN);
    },
    authorizeSubscribe: (_client, _subscription, done) => done(null, null),
    authorizeForward: () => null,
  });
  // Not `clientReady`: it waits for the end of a queue that never ends.
  aedes.on('connackSent', (_connack, { conn }) => {
    if (conn instanceof AedesPipe) conn.events.onAccepted();
  });
  return aedes;
}

const TAKEN = new Error('the gateway publishes wills');
