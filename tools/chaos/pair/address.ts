import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import mqttPacket from 'mqtt-packet';
import type { PairGateway } from './gateway.js';

/** As in config/pair/keepalived.conf: checks every second, down after two bad answers, up after one good answer. */
const CHECK_EVERY_MS = 1_000;
const FALL = 2;
/** The priority of a box whose gateway serves, and the extra while the gateway has no fault. */
const PRIORITY = 100;
const READY_WEIGHT = 50;

/** Bad answers in a row. */
interface Failures {
  readonly serving: number;
  readonly ready: number;
}

const DOWN: Failures = { serving: FALL, ready: FALL };

/** Called when a gateway acknowledges an alarm. */
export type OnAcknowledged = (gateway: PairGateway) => void;

/** An address at which clients reach one of the gateways. */
export abstract class PairAddress {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #onAcknowledged: OnAcknowledged;

  constructor(onAcknowledged: OnAcknowledged) {
    this.#onAcknowledged = onAcknowledged;
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client));
  }

  /** The gateway for a new connection. */
  protected abstract choose(): PairGateway | undefined;

  get mqttUrl(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return `mqtt://127.0.0.1:${address.port}`;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    this.breakAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Breaks all connections, as happens when an address moves to another machine. */
  protected breakAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #accept(client: Socket): void {
    client.on('error', () => client.destroy());
    const gateway = this.choose();
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
    target.on('data', (chunk) => parser.parse(chunk));
    client.pipe(target);
    target.pipe(client);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}

/** Follows `/readyz` as keepalived does with the recipe's settings. */
export class FollowingAddress extends PairAddress {
  readonly #gateways: readonly PairGateway[];
  readonly #ended = new AbortController();
  readonly #failures = new Map<PairGateway, Failures>();
  readonly #unplugged = new Set<PairGateway>();
  #holder: PairGateway | undefined;

  constructor(gateways: readonly PairGateway[], onAcknowledged: OnAcknowledged) {
    super(onAcknowledged);
    this.#gateways = gateways;
  }

  override async listen(): Promise<this> {
    await super.listen();
    for (const gateway of this.#gateways) void this.#watch(gateway);
    return this;
  }

  override async close(): Promise<void> {
    this.#ended.abort();
    await super.close();
  }

  /** Whether the address leads anywhere. */
  get isHeld(): boolean {
    return this.#holder !== undefined;
  }

  /** Takes the gateway's box off the clients' network, until `plug`. */
  unplug(gateway: PairGateway): void {
    this.#unplugged.add(gateway);
    this.#move();
  }

  plug(gateway: PairGateway): void {
    this.#unplugged.delete(gateway);
  }

  protected override choose(): PairGateway | undefined {
    return this.#holder;
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
    if (this.#holder !== undefined && this.#priority(this.#holder) === highest && highest > 0)
      return;
    const isHighest = (gateway: PairGateway) => this.#priority(gateway) === highest;
    const next = highest > 0 ? this.#gateways.find(isHighest) : undefined;
    if (next === this.#holder) return;
    this.#holder = next;
    this.breakAll();
  }

  #priority(gateway: PairGateway): number {
    const { serving, ready } = this.#failures.get(gateway) ?? DOWN;
    if (this.#unplugged.has(gateway) || serving >= FALL) return 0;
    return PRIORITY + (ready < FALL ? READY_WEIGHT : 0);
  }
}

/** Leads to the two gateways in turn: for clients that know both. */
export class AlternatingAddress extends PairAddress {
  readonly #gateways: readonly PairGateway[];
  #turn = 0;

  constructor(gateways: readonly PairGateway[], onAcknowledged: OnAcknowledged) {
    super(onAcknowledged);
    this.#gateways = gateways;
  }

  protected override choose(): PairGateway | undefined {
    this.#turn++;
    return this.#gateways[this.#turn % this.#gateways.length];
  }
}
