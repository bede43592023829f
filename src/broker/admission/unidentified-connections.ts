import type { Duplex } from 'node:stream';
import { networkOf } from '../../domain/addresses.js';
import { packetBytes } from '../../mqtt/bytes.js';
import { PacketError, PROTOCOL_ERROR } from '../../mqtt/codes.js';
import type { QuotaWatch } from '../../site/access/quota-watch.js';
import type { ConnectionQuota, Held } from './connection-quota.js';

/** A network is reported when it has this many connections without a CONNECT and one of them ends. */
const NAMED_FROM = 3;
/** Bytes of incomplete CONNECTs; a client sends its CONNECT in one go. */
const MAX_BEGUN_BYTES = 32 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export interface UnidentifiedConnectionsOptions {
  readonly timeoutMs: number;
  readonly maxPacketBytes: number;
  readonly quota: Pick<ConnectionQuota, 'arrived' | 'left'>;
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  /** Called when a connection is closed because no complete CONNECT arrived. */
  readonly onTimeout: (address: string) => void;
  /** Called when a connection is closed because something else arrived. */
  readonly onMalformed: (address: string, error: PacketError) => void;
}

/** A connection whose CONNECT is not complete. */
interface Awaited extends Held {
  readonly network: string;
  begun: Buffer;
}

/**
 * Waits until the first packet of each connection is complete.
 *
 * Until then a connection costs its socket and the bytes received. Thousands that stop in the middle of CONNECT,
 * or send nothing, delay no other client. A client refused for what its CONNECT says has had its answer and is not
 * reported.
 */
export class UnidentifiedConnections {
  readonly #options: UnidentifiedConnectionsOptions;
  readonly #awaited = new Set<Awaited>();
  readonly #countByNetwork = new Map<string, number>();
  #begunBytes = 0;

  constructor(options: UnidentifiedConnectionsOptions) {
    this.#options = options;
  }

  /** Serves the connection once its first packet is complete. */
  wait(stream: Duplex, address: string, serve: () => void): void {
    const { timeoutMs, onTimeout, onMalformed } = this.#options;
    const drop = () => {
      leave();
      stream.destroy();
    };
    const awaited: Awaited = {
      address,
      network: networkOf(address),
      begun: NOTHING,
      keepAliveMs: Number.POSITIVE_INFINITY,
      silentMs: 0,
      timeOut: drop,
      close: drop,
    };
    const close = () => stream.destroy();
    const timer = setTimeout(() => {
      onTimeout(address);
      close();
    }, timeoutMs);
    const leave = () => {
      clearTimeout(timer);
      stream.off('readable', read).off('end', close).off('close', end);
      this.#left(awaited);
    };
    const end = () => {
      // One may be an accident, several from one network are not.
      if (this.#countOf(awaited) >= NAMED_FROM) this.#name(awaited);
      leave();
    };
    const read = () => {
      try {
        if (!this.#readOn(awaited, stream)) return;
      } catch (error) {
        if (!(error instanceof PacketError)) throw error;
        onMalformed(address, error);
        drop();
        return;
      }
      leave();
      stream.unshift(awaited.begun);
      serve();
    };
    stream.on('readable', read).once('end', close).once('close', end);
    this.#arrived(awaited);
  }

  #arrived(awaited: Awaited): void {
    this.#awaited.add(awaited);
    this.#countByNetwork.set(awaited.network, this.#countOf(awaited) + 1);
    this.#options.quota.arrived(awaited);
  }

  #left(awaited: Awaited): void {
    if (!this.#awaited.delete(awaited)) return;
    this.#begunBytes -= awaited.begun.length;
    const others = this.#countOf(awaited) - 1;
    if (others > 0) this.#countByNetwork.set(awaited.network, others);
    else this.#countByNetwork.delete(awaited.network);
    this.#options.quota.left(awaited);
  }

  /** Reads the bytes that have arrived. Returns whether the first packet is complete. */
  #readOn(awaited: Awaited, stream: Duplex): boolean {
    const bytes: unknown = stream.read();
    if (!(bytes instanceof Buffer)) return false;
    awaited.begun = awaited.begun === NOTHING ? bytes : Buffer.concat([awaited.begun, bytes]);
    this.#begunBytes += bytes.length;
    if (isWhole(awaited.begun, this.#options.maxPacketBytes)) return true;
    if (this.#begunBytes > MAX_BEGUN_BYTES) this.#dropBegun();
    return false;
  }

  #countOf({ network }: Awaited): number {
    return this.#countByNetwork.get(network) ?? 0;
  }

  /** Drops the oldest connections with an incomplete CONNECT. */
  #dropBegun(): void {
    for (const awaited of this.#awaited) {
      if (this.#begunBytes <= MAX_BEGUN_BYTES) return;
      if (awaited.begun.length === 0) continue;
      this.#name(awaited);
      awaited.close();
    }
  }

  #name({ network }: Awaited): void {
    this.#options.watch.exceeded('newcomers', `address:${network}`);
  }
}

/** MQTT 3.1.1, 2.2.1 */
const CONNECT = 0x10;

/**
 * Whether the first packet is complete.
 *
 * @throws PacketError if it is not a CONNECT, or can never become one
 */
function isWhole(bytes: Buffer, maxPacketBytes: number): boolean {
  // [MQTT-3.1.0-1]
  if (bytes[0] !== CONNECT) {
    throw new PacketError('a first packet other than CONNECT', PROTOCOL_ERROR);
  }
  const length = packetBytes(bytes, 0, maxPacketBytes);
  return length !== undefined && length <= bytes.length;
}
