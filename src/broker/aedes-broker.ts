import { Duplex } from 'node:stream';
import { Aedes } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';
import { BrokerPersistence } from './persistence.js';

/** MQTT 3.1.1, 3.14. */
const DISCONNECT = Buffer.from([0xe0, 0]);
/** Stands for the will of a client, which is with its connection. */
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
 * Aedes knows a client by its session, once it is authenticated. Everything else that a client sends, and all that it is
 * sent, passes Aedes by.
 */
export class AedesPipe extends Duplex {
  readonly events: PipeEvents;
  #isDisconnecting = false;

  constructor(events: PipeEvents) {
    super();
    this.events = events;
  }

  /** Announces the client: Aedes ends the one that has this id [MQTT-3.1.4-2]. */
  connect(clientId: string, hasWill: boolean): void {
    const will = hasWill ? { will: WILL } : {};
    this.push(
      generate({ cmd: 'connect', ...PROTOCOL, clean: true, clientId, keepalive: 0, ...will }),
    );
  }

  /** Ends it without its will [MQTT-3.14.4-3]. */
  disconnect(): void {
    this.#isDisconnecting = true;
    this.push(DISCONNECT);
  }

  /** Ends it, with its will unless it has sent DISCONNECT. */
  leave(): void {
    if (!this.#isDisconnecting) this.destroy();
  }

  override _read(): void {
    // `connect` and `disconnect` push.
  }

  /** Drops CONNACK: `onAccepted` tells of it. */
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
  // It writes CONNACK only: not worth a buffer for each of 65,536 numbers, 7 MB in all.
  writeToStream.cacheNumbers = false;
  const aedes = new Aedes({
    // No `id`: a fixed one corrupts what is stored after a restart (docs/internals/dependency-faults.md, 4).
    persistence: new BrokerPersistence(),
    // The error keeps Aedes from publishing it, too.
    authorizePublish: (client, _will, done) => {
      if (client?.conn instanceof AedesPipe) client.conn.events.onWill();
      done(TAKEN);
    },
    authorizeSubscribe: (_client, _subscription, done) => done(null, null),
    authorizeForward: () => null,
  });
  // Not `clientReady`, which waits for the end of a queue that has none.
  aedes.on('connackSent', (_connack, { conn }) => {
    if (conn instanceof AedesPipe) conn.events.onAccepted();
  });
  return aedes;
}

const TAKEN = new Error('the gateway publishes wills');
