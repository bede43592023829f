import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { CutManner } from '../schedule.js';

interface Connection {
  readonly link: string;
  readonly client: Socket;
  readonly target: Socket;
  hold(isHeld: boolean): void;
}

/**
 * Connects processes through fronts that know who connects, and can cut any link.
 *
 * Each process connects from its own loopback address; others reach it through its front.
 */
export class PairNetwork {
  readonly #names = new Map<string, string>();
  readonly #fronts: Server[] = [];
  readonly #connections = new Set<Connection>();
  /** How each cut link is cut. */
  readonly #cuts = new Map<string, CutManner>();

  /** The loopback address from which the named process must connect. */
  sourceOf(name: string): string {
    for (const [address, known] of this.#names) if (known === name) return address;
    const address = `127.0.71.${this.#names.size + 1}`;
    this.#names.set(address, name);
    return address;
  }

  /** Opens the front of a process. Resolves to the port by which others reach the process. */
  async front(name: string, targetPort: number): Promise<number> {
    const server = createServer({ noDelay: true }, (client) => {
      this.#accept(client, name, targetPort);
    });
    this.#fronts.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the front has no port');
    return address.port;
  }

  /** Cuts the link by which one process connects to the other. */
  cut(from: string, to: string, manner: CutManner): void {
    const link = linkOf(from, to);
    this.#cuts.set(link, manner);
    for (const connection of this.#on(link)) {
      if (manner === 'silent') connection.hold(true);
      else breakOff(connection);
    }
  }

  mend(from: string, to: string): void {
    const link = linkOf(from, to);
    this.#cuts.delete(link);
    for (const connection of this.#on(link)) connection.hold(false);
  }

  /** The number of connections over a link. */
  connectionsOf(from: string, to: string): number {
    return this.#on(linkOf(from, to)).length;
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) breakOff(connection);
    for (const server of this.#fronts.splice(0)) {
      server.close();
      await once(server, 'close');
    }
  }

  #on(link: string): Connection[] {
    return [...this.#connections].filter((connection) => connection.link === link);
  }

  #accept(client: Socket, name: string, targetPort: number): void {
    const link = linkOf(this.#names.get(client.remoteAddress ?? '') ?? 'outside', name);
    const manner = this.#cuts.get(link);
    client.on('error', () => client.destroy());
    if (manner === 'refused') {
      client.resetAndDestroy();
      return;
    }
    const target = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    target.on('error', () => target.destroy());
    const [up, down] = [new Pipe(client, target), new Pipe(target, client)];
    const connection: Connection = {
      link,
      client,
      target,
      hold: (isHeld) => {
        up.hold(isHeld);
        down.hold(isHeld);
      },
    };
    this.#connections.add(connection);
    for (const socket of [client, target]) {
      socket.on('close', () => {
        breakOff(connection);
        this.#connections.delete(connection);
      });
    }
    if (manner === 'silent') connection.hold(true);
  }
}

/** One direction of a connection, with back-pressure; while held, it passes nothing, not even an end. */
class Pipe {
  readonly #from: Socket;
  #isHeld = false;
  #isFull = false;

  constructor(from: Socket, to: Socket) {
    this.#from = from;
    from.on('data', (chunk) => {
      this.#isFull = !to.write(chunk);
      this.#flow();
    });
    to.on('drain', () => {
      this.#isFull = false;
      this.#flow();
    });
    from.on('end', () => to.end());
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#flow();
  }

  #flow(): void {
    if (this.#isHeld || this.#isFull) this.#from.pause();
    else this.#from.resume();
  }
}

function linkOf(from: string, to: string): string {
  return `${from} → ${to}`;
}

function breakOff({ client, target }: Connection): void {
  for (const socket of [client, target]) if (!socket.destroyed) socket.resetAndDestroy();
}
