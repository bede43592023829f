/**
 * Aedes, the embedded broker: it admits clients, gives them their names, ends a client whose id another one takes, and
 * says when a will is due.
 *
 * Of a client it sees the CONNECT, the DISCONNECT and the end; its name is the key of its session. All other packets go
 * past it, in both directions, because its queues would lose alarms (docs/internals/dependency-faults.md).
 */
import { Duplex } from 'node:stream';
import { Aedes } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';

/** MQTT 3.1.1, 3.14. */
const DISCONNECT = Buffer.from([0xe0, 0]);
/** Stands in for a client's will; the gateway keeps the real one. */
const WILL = { topic: 'will', payload: 'will', qos: 0, retain: false } as const;
const PROTOCOL = { protocolId: 'MQTT', protocolVersion: 4 } as const;
const TAKEN = new Error('the gateway publishes wills');
/**
 * The queue of every client.
 *
 * After CONNACK Aedes pipes it through two more streams. Ending all three costs more than a login; streams that never
 * end are simply garbage-collected.
 */
const ENDLESS: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
};

/** Holds nothing: a device can connect, and its alarms reach the nurses, while the store is away (contract 4.4). */
const PERSISTENCE = {
  setup: async () => undefined,
  cleanSubscriptions: async () => undefined,
  outgoingStream: () => ENDLESS,
  putWill: async () => undefined,
  delWill: async () => undefined,
  streamWill: () => [],
};

/** The decisions of Aedes about a client. */
export interface AedesEvents {
  /** Called once no other client has its id. */
  readonly onAccepted: () => void;
  /** Called when its will is due. */
  readonly onWill: () => void;
  /** Called when another client takes its id, or Aedes closes. */
  readonly onEnd: () => void;
}

/** The network connection of a client as Aedes sees it. */
export class AedesPipe extends Duplex {
  readonly events: AedesEvents;
  #isDisconnecting = false;

  constructor(events: AedesEvents) {
    super();
    this.events = events;
  }

  /** Announces the client; Aedes ends any other with this id [MQTT-3.1.4-2]. */
  connect(clientId: string, hasWill: boolean): void {
    const client = { clean: true, clientId, keepalive: 0, ...(hasWill ? { will: WILL } : {}) };
    this.push(generate({ cmd: 'connect', ...PROTOCOL, ...client }));
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

/** Creates an Aedes for such pipes. */
export function createAedes(): Aedes {
  // Aedes writes only CONNACK: that is not worth a buffer for each of 65,536 numbers, 7 MB in all.
  writeToStream.cacheNumbers = false;
  const aedes = new Aedes({
    // No `id`: a fixed one corrupts stored data after a restart (dependency-faults.md, 4).
    persistence: PERSISTENCE,
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
