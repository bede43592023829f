import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import { type Address, addressText, isSameAddress } from '../../domain/server-address.js';
import type { StoreTls } from '../server/store-access.js';
import type { PrimaryWatch } from './primary-watch.js';

const RETRY_MS = 100;
const infoSchema = z.object({ role: z.string().optional() });

type Connector = NonNullable<RedisOptions['Connector']>;

/** Creates the class of ioredis connectors that follow the primary. */
export function primaryConnector(watch: PrimaryWatch, tls: StoreTls | undefined): Connector {
  return class extends PrimaryConnector {
    constructor() {
      super(watch, tls);
    }
  };
}

/**
 * Connects to the primary, and breaks the connection once another server is the primary.
 *
 * It destroys the socket, not just ends it: a frozen server would keep an ended one open (ioredis issue 1314).
 */
class PrimaryConnector extends AbstractConnector {
  readonly #watch: PrimaryWatch;
  readonly #tls: StoreTls | undefined;
  #socket: Socket | undefined;

  constructor(watch: PrimaryWatch, tls: StoreTls | undefined) {
    super(0);
    this.#watch = watch;
    this.#tls = tls;
  }

  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    this.connecting = true;
    const primary = await this.#find(emit);
    const tls = this.#tls;
    const socket =
      tls === undefined ? createConnection({ ...primary }) : connectTls({ ...primary, ...tls });
    this.#socket = socket;
    socket.once('error', (error) => {
      this.firstError = error;
    });
    const forget = this.#watch.onMove((next) => {
      if (isSameAddress(next, primary)) return;
      socket.destroy(new Error(`${addressText(primary)} is the primary no more`));
    });
    socket.once('close', forget);
    return socket;
  }

  override disconnect(): void {
    this.connecting = false;
    this.#socket?.destroy();
  }

  /** Whether the server itself says it is a primary: what others say may be too new or too old. */
  override check(info: unknown): boolean {
    return infoSchema.safeParse(info).data?.role !== 'slave';
  }

  /** Asks until it gets an answer: an error thrown here would end the connection for good. */
  async #find(emit: (type: string, error: Error) => void): Promise<Address> {
    for (;;) {
      try {
        const primary = await this.#watch.find();
        this.#endIfUnwanted();
        return primary;
      } catch (error) {
        this.#endIfUnwanted();
        if (error instanceof Error) emit('error', error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        this.#endIfUnwanted();
      }
    }
  }

  #endIfUnwanted(): void {
    if (!this.connecting) throw new Error('Connection is closed.');
  }
}
