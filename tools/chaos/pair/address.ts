import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import mqttPacket from 'mqtt-packet';
import type { PairGateway } from './gateway.js';

/** As in config/pair/keepalived.conf: checks every second, down after two bad answers, up after one good answer. */
const CHECK_EVERY_MS = 1_000;
const FALL = 2;
/** The priority of a box whose gateway serves, and the extra while the gateway has no fault. */
const [PRIORITY, READY_WEIGHT] = [100, 50];
/** Clients notice a dead gateway soon, as clients that send or receive alarms should. */
const CLIENT_PATIENCE_MS = 5_000;

/** An address at which clients reach one of the gateways. */
export class PairAddress {
  readonly #choose: () => PairGateway | undefined;
  readonly #onAcknowledged: (gateway: PairGateway) => void;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /**
   * @param choose the gateway for a new connection
   * @param onAcknowledged called when a gateway acknowledges an alarm
   */
  constructor(
    choose: () => PairGateway | undefined,
    onAcknowledged: (gateway: PairGateway) => void,
  ) {
    this.#choose = choose;
    this.#onAcknowledged = onAcknowledged;
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  get mqttPort(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return address.port;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    this.breakAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Breaks all connections, as happens when an address moves to another machine. */
  breakAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #accept(client: Socket): void {
    client.on('error', () => client.destroy());
    const gateway = this.#choose();
    if (gateway === undefined) {
      client.resetAndDestroy();
      return;
    }
    const target = connect({ port: gateway.mqttPort, host: '127.0.0.1', noDelay: true });
    target.on('error', () => target.destroy());
    const parser = mqttPacket.parser();
    parser.on('packet', ({ cmd }) => {
      if (cmd === 'puback') this.#onAcknowledged(gateway);
    });
    let tired: NodeJS.Timeout | undefined;
    client.on('data', () => {
      tired ??= setTimeout(() => client.resetAndDestroy(), CLIENT_PATIENCE_MS);
    });
    target.on('data', (chunk) => {
      clearTimeout(tired);
      tired = undefined;
      parser.parse(chunk);
    });
    client.pipe(target);
    target.pipe(client);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('close', () => {
        clearTimeout(tired);
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}

/** Bad answers in a row. */
interface Failures {
  readonly serving: number;
  readonly ready: number;
}

const DOWN: Failures = { serving: FALL, ready: FALL };

/** Decides who holds the address, from `/readyz`, as keepalived does with the recipe's settings. */
export class Keepalived {
  /** Called when the address moves. */
  onMove: () => void = () => undefined;
  readonly #gateways: readonly PairGateway[];
  readonly #ended = new AbortController();
  readonly #failures = new Map<PairGateway, Failures>();
  readonly #unplugged = new Set<PairGateway>();
  #holder: PairGateway | undefined;

  constructor(gateways: readonly PairGateway[]) {
    this.#gateways = gateways;
  }

  get holder(): PairGateway | undefined {
    return this.#holder;
  }

  start(): void {
    for (const gateway of this.#gateways) void this.#watch(gateway);
  }

  end(): void {
    this.#ended.abort();
  }

  /** Takes the gateway's box off the clients' network, until `plug`. */
  unplug(gateway: PairGateway): void {
    this.#unplugged.add(gateway);
    this.#move();
  }

  plug(gateway: PairGateway): void {
    this.#unplugged.delete(gateway);
  }

  async #watch(gateway: PairGateway): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const readiness = await gateway.readiness();
      const { serving, ready } = this.#failures.get(gateway) ?? DOWN;
      const isServing = readiness === 'ready' || readiness === 'faulty';
      this.#failures.set(gateway, {
        serving: isServing ? 0 : serving + 1,
        ready: readiness === 'ready' ? 0 : ready + 1,
      });
      this.#move();
      await delay(CHECK_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The box with the highest priority holds the address; in a tie, it stays where it is. */
  #move(): void {
    const highest = Math.max(...this.#gateways.map((gateway) => this.#priority(gateway)));
    const stays = this.#holder !== undefined && this.#priority(this.#holder) === highest;
    if (stays && highest > 0) return;
    const isHighest = (gateway: PairGateway) => this.#priority(gateway) === highest;
    const next = highest > 0 ? this.#gateways.find(isHighest) : undefined;
    if (next === this.#holder) return;
    this.#holder = next;
    this.onMove();
  }

  #priority(gateway: PairGateway): number {
    const { serving, ready } = this.#failures.get(gateway) ?? DOWN;
    if (this.#unplugged.has(gateway) || serving >= FALL) return 0;
    return PRIORITY + (ready < FALL ? READY_WEIGHT : 0);
  }
}
