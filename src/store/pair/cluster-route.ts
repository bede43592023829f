/**
 * The way to the primary of the site's slot in a Redis Cluster.
 *
 * All keys of a site are in one slot, so a gateway needs only connections to the slot's primary. A node that is not
 * it names it (`MOVED`). The `Cluster` of ioredis would send commands without a key (INFO, WAIT) to any node, and
 * repeat a command whose connection broke.
 */
import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { Address } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/connection.js';
import { askServer } from '../server/connection.js';

const RETRY_MS = 100;
/** Nodes that do not agree yet may name each other. */
const MAX_HOPS = 5;
const MOVED = /\bMOVED \d+ (.*):(\d+)$/;

type Connector = NonNullable<RedisOptions['Connector']>;

export class ClusterRoute {
  readonly #nodes: readonly Address[];
  readonly #access: StoreAccess;
  readonly #key: string;
  /** Where the primary was found last, by any connection. */
  #known: Address | undefined;

  /**
   * @param nodes some of the nodes: each knows all of them
   * @param key any key of the site
   */
  constructor(nodes: readonly Address[], access: StoreAccess, key: string) {
    this.#nodes = nodes;
    this.#access = access;
    this.#key = key;
  }

  /** The class of ioredis connectors that connect to the primary. */
  get connector(): Connector {
    const find = () => this.#find();
    const { tls } = this.#access;
    return class extends ClusterConnector {
      constructor() {
        super(find, tls);
      }
    };
  }

  /** @throws Error when no node names a primary that answers */
  async #find(): Promise<Address> {
    const failures = new Set<string>();
    const first = this.#known === undefined ? [] : [this.#known];
    for (const node of [...first, ...this.#nodes]) {
      try {
        this.#known = await this.#primaryFrom(node);
        return this.#known;
      } catch (error) {
        failures.add(error instanceof Error ? error.message : String(error));
      }
    }
    this.#known = undefined;
    throw new Error(
      `no node of the cluster names the primary of the site: ${[...failures].join('; ')}`,
    );
  }

  async #primaryFrom(node: Address): Promise<Address> {
    let address = node;
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const named = await this.#namedBy(address);
      if (named === undefined) return address;
      address = named;
    }
    throw new Error('the nodes name each other');
  }

  /** The primary that a node names; undefined if it serves the slot itself. */
  async #namedBy(address: Address): Promise<Address | undefined> {
    try {
      await askServer(address, this.#access, 'GET', this.#key);
      return undefined;
    } catch (error) {
      const [, host, port] = MOVED.exec(error instanceof Error ? error.message : '') ?? [];
      if (host === undefined) throw error;
      // A node that does not know its own address yet names none.
      return { host: host === '' ? address.host : host, port: Number(port) };
    }
  }
}

class ClusterConnector extends AbstractConnector {
  readonly #find: () => Promise<Address>;
  readonly #tls: StoreAccess['tls'];
  #socket: Socket | undefined;

  constructor(find: () => Promise<Address>, tls: StoreAccess['tls']) {
    super(0);
    this.#find = find;
    this.#tls = tls;
  }

  /** Asks until it gets an answer: an error thrown here would end the connection for good. */
  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    this.connecting = true;
    for (;;) {
      try {
        return this.#open(await this.#find());
      } catch (error) {
        this.#endIfUnwanted();
        if (error instanceof Error) emit('error', error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        this.#endIfUnwanted();
      }
    }
  }

  override disconnect(): void {
    this.connecting = false;
    this.#socket?.destroy();
  }

  #open(primary: Address): Socket {
    this.#endIfUnwanted();
    const tls = this.#tls;
    const socket =
      tls === undefined ? createConnection({ ...primary }) : connectTls({ ...primary, ...tls });
    socket.once('error', (error) => {
      this.firstError = error;
    });
    this.#socket = socket;
    return socket;
  }

  #endIfUnwanted(): void {
    if (!this.connecting) throw new Error('Connection is closed.');
  }
}
