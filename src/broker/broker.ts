/**
 * The MQTT clients: who is connected, as whom and under which session, and what happens when one comes or goes.
 *
 * Bounds how many there are: in all, before the login, and of each principal. Event streams count, too.
 */
import type { Aedes } from 'aedes';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { networkOf } from '../domain/addresses.js';
import type { ClientCertificate } from '../domain/credentials.js';
import type { ConnectionQuotas } from '../domain/limits.js';
import { formatTime } from '../domain/time.js';
import type { Hubs } from '../ingest/hubs.js';
import type { Presence } from '../ingest/presence.js';
import { type Refusal, SERVER_SHUTTING_DOWN } from '../mqtt/codes.js';
import type { ConnectPacket } from '../mqtt/packets.js';
import type { Quota, QuotaWatch } from '../site/access/quota-watch.js';
import { AedesPipe, createAedes } from './aedes.js';
import { Client, type Login } from './client.js';
import { ConnectError, type ConnectRequest, VERSION_NAMES } from './connect.js';
import type {
  ConnectionPage,
  ConnectionPosition,
  ConnectionView,
  Transport as Protocol,
} from './connection-list.js';
import { type Denied, endOf } from './denied.js';
import { limitKey } from './flow.js';
import type { Logins } from './login.js';
import type { Publishing } from './publishing.js';
import type { Subscribing } from './subscribing.js';
import { Turns } from './turns.js';
import { Wills } from './wills.js';

const CHECK_INTERVAL_MS = 500;
/** A check this long after the last one proves nothing: the process itself was held up. */
const HELD_UP_AFTER_MS = 2 * CHECK_INTERVAL_MS;
/** Bytes of incomplete CONNECTs; a client sends its CONNECT in one go. */
const MAX_BYTES_OF_STRANGERS = 32 * 1024 * 1024;
/** From so many connections without a login on, the networks of those that end without one are named. */
const MANY_STRANGERS = 100;
/** The part of all connections kept for clients that have not logged in. */
const PART_OF_STRANGERS = 1 / 8;
const SHUTTING_DOWN: Refusal = {
  reasonCode: SERVER_SHUTTING_DOWN,
  reason: 'The gateway is shutting down.',
};

export interface BrokerOptions {
  readonly logins: Logins;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
  readonly sessions: Sessions;
  readonly presence: Presence;
  readonly hubs: Hubs;
  readonly denied: Denied;
  readonly watch: QuotaWatch;
  /** `lag`: how many entries still wait to be sent to a consumer that reads. */
  readonly router: { readonly lag: number };
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  readonly log: Logger;
  /** The wall clock. */
  readonly now: () => number;
}

/** A connection of a principal: a client, or an event stream. */
export interface Counted {
  readonly keepAliveMs: number;
  readonly silentMs: number;
  /** Ends one that has missed its keep-alive. */
  timeOut(): void;
  endCredential(): void;
}

/** A connection as the list shows it. */
interface Shown {
  /** Rises by one with each connection. */
  readonly number: number;
  readonly since: string;
  /** Undefined for an event stream. */
  readonly client: Client | undefined;
  readonly view: () => Omit<ConnectionView, 'since'>;
}

export class Broker {
  readonly turns: Turns;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
  readonly sessions: Sessions;
  readonly denied: Denied;
  readonly maxPacketBytes: number;
  readonly #options: BrokerOptions;
  readonly #aedes: Aedes = createAedes();
  readonly #pipes = new WeakMap<Client, AedesPipe>();
  readonly #wills: Wills;
  /** Clients that have not logged in, the oldest first. */
  readonly #strangers = new Set<Client>();
  /** The connections of each principal (`principalKey`), with the keys of their sessions. */
  readonly #byOwner = new Map<string, Map<Counted, string>>();
  /** The principal of each connection that counts. */
  readonly #owners = new Map<Counted, string>();
  /** Clients whose CONNACK is sent, and event streams, by session, in the order of opening. */
  readonly #open = new Map<string, Shown>();
  #lastNumber = 0;
  #checkedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.publishing = options.publishing;
    this.subscribing = options.subscribing;
    this.sessions = options.sessions;
    this.denied = options.denied;
    this.maxPacketBytes = options.maxPacketBytes;
    this.turns = new Turns(options.router);
    this.#wills = new Wills(options.publishing, options.log);
  }

  /** Prepares for connections (`arrived`). */
  async start(): Promise<void> {
    // The types of Aedes lack this (dependency-faults.md, 15). An unhandled error would end the process.
    const emitter: NodeJS.EventEmitter = this.#aedes;
    emitter.on('error', (error) => {
      this.#options.log.error({ part: 'mqtt', err: error }, 'broker error');
    });
    await this.#aedes.listen();
    this.#checkedAtMs = performance.now();
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const connected = [...this.#byOwner.values()].flatMap((some) => [...some.keys()]);
    for (const one of [...this.#strangers, ...connected]) {
      if (one instanceof Client) one.close(SHUTTING_DOWN);
    }
    this.turns.stop();
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    // Until then Aedes reports the wills of the connections that have just ended.
    this.#wills.stop();
  }

  /**
   * Takes a new connection; if there are too many without a login, the oldest of them goes.
   *
   * @param certificate that it has shown, of the right authority
   */
  arrived(address: string, protocol: Protocol, certificate?: ClientCertificate): Client {
    const { maxConnections } = this.#options;
    // After a restart all clients are strangers, and there is room for all of them.
    const room = Math.max(maxConnections * PART_OF_STRANGERS, maxConnections - this.#owners.size);
    const [oldest] = this.#strangers;
    if (this.#strangers.size >= room && oldest !== undefined) {
      this.#nameStranger(oldest);
      oldest.close();
    }
    const client = new Client(this, address, protocol, certificate);
    this.#strangers.add(client);
    return client;
  }

  /**
   * Counts a connection of a principal that has logged in.
   *
   * At the limit, the connection that it takes over makes room for it [MQTT-3.1.4-2], or one that has missed its
   * keep-alive: after a network failure, a client without a fixed client id leaves half-open connections behind.
   *
   * @throws ConnectError
   */
  count(counted: Counted, owner: string, sessionKey: string, quotas: ConnectionQuotas): void {
    const own = this.#byOwner.get(owner) ?? new Map<Counted, string>();
    const excess = this.#excessOf(own.size, quotas);
    const takesOver = own.size < 2 * quotas.connections && this.sessionsOf(owner).has(sessionKey);
    if (excess !== undefined && !takesOver) {
      const overdue = longestOverdue(own.keys());
      if (overdue === undefined) {
        this.#options.watch.exceeded(excess, owner);
        throw new ConnectError(excess === 'connections' ? 'too-many-connections' : 'gateway-full');
      }
      overdue.timeOut();
    }
    if (counted instanceof Client) this.#strangers.delete(counted);
    this.#byOwner.set(owner, own.set(counted, sessionKey));
    this.#owners.set(counted, owner);
  }

  /** Forgets a connection that is gone, if it counts. */
  uncount(counted: Counted): void {
    const owner = this.#owners.get(counted);
    if (owner === undefined) return;
    this.#owners.delete(counted);
    const own = this.#byOwner.get(owner);
    own?.delete(counted);
    if (own?.size === 0) this.#byOwner.delete(owner);
  }

  /** The sessions that connections of the owner use. */
  sessionsOf(owner: string): ReadonlySet<string> {
    return new Set(this.#byOwner.get(owner)?.values());
  }

  /** Checks a client's credentials, and opens its connection once no other client uses its session. */
  async admit(client: Client, connect: ConnectPacket, request: ConnectRequest): Promise<void> {
    const login = await this.#options.logins.admit(client, request, connect.password, this);
    client.admitted(login, request.terms);
    const { principal, session } = login;
    if (client.isClosed) {
      // The gateway has ended it in the meantime: its clean session must go too.
      this.uncount(client);
      this.sessions.closed(session);
      return;
    }
    const before = this.#open.get(session.key)?.client;
    if (before !== undefined) this.denied.ended(before, 'taken-over');
    const { presence, hubs } = this.#options;
    if (principal.type === 'device') presence.connected(principal.id, client);
    else hubs.connected(principal.id, client);
    const { will } = connect;
    const pipe = new AedesPipe({
      onAccepted: () => this.#accepted(client, login),
      onWill: () => {
        if (will !== undefined && !client.isCredentialEnded) this.#wills.take(login, will);
      },
      onEnd: () => client.close(endOf('taken-over')),
    });
    this.#pipes.set(client, pipe);
    this.#aedes.handle(pipe);
    pipe.connect(session.key, will !== undefined);
  }

  /** Notes a DISCONNECT after which the will must not be published. */
  dropWill(client: Client): void {
    this.#pipes.get(client)?.disconnect();
  }

  /** Notes a client that does not read its messages. */
  namedUnread({ session }: Login): void {
    this.#options.watch.exceeded('unread-bytes', session.owner.key);
  }

  /** Takes leave of a client that is closed. */
  left(client: Client): void {
    if (this.#strangers.size >= MANY_STRANGERS) this.#nameStranger(client);
    this.#strangers.delete(client);
    // It may have been counted, and then refused.
    this.uncount(client);
    const { login } = client;
    if (login === undefined) return;
    this.#pipes.get(client)?.leave();
    client.disconnectConsumer();
    const { principal, session } = login;
    this.sessions.closed(session);
    const { presence, log } = this.#options;
    // A device that is already back shows no gap.
    if (principal.type === 'device') presence.disconnected(principal.id, client);
    else presence.hubDisconnected(principal.id, client);
    if (this.#open.get(session.key)?.client === client) this.#open.delete(session.key);
    log.info({ clientId: session.clientId, principal: session.owner.key }, 'disconnected');
  }

  /** Ends the connections and event streams of a principal (`principalKey`) whose credential has ended. */
  disconnect(owner: string): void {
    for (const counted of [...(this.#byOwner.get(owner)?.keys() ?? [])]) counted.endCredential();
    this.#wills.drop(owner);
  }

  /** Records a connection that its listener has ended. */
  refused(address: string, error: ConnectError): void {
    this.denied.connect({ address, request: undefined, version: undefined }, error);
  }

  /** The number of connected clients, including event streams. */
  get connectionCount(): number {
    return this.#open.size;
  }

  /**
   * Adds a connection to the list.
   *
   * @param key of its session
   */
  show(key: string, view: Shown['view'], client?: Client): void {
    // Moves it to the end, so that the map is in the order of the numbers.
    this.#open.delete(key);
    const number = ++this.#lastNumber;
    this.#open.set(key, { number, since: formatTime(this.#options.now()), client, view });
  }

  /** Takes an event stream off the list. */
  hide(key: string): void {
    this.#open.delete(key);
  }

  /** A page of the open connections, in the order of opening. */
  connections(limit: number, from?: ConnectionPosition): ConnectionPage {
    const { after, upTo } = from ?? { after: 0, upTo: this.#lastNumber };
    const found: Shown[] = [];
    for (const shown of this.#open.values()) {
      if (shown.number <= after) continue;
      if (shown.number > upTo || found.length > limit) break;
      found.push(shown);
    }
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const next = found.length > limit && last ? { after: last.number, upTo } : undefined;
    return { connections: page.map(({ view, since }) => ({ ...view(), since })), next };
  }

  #accepted(client: Client, login: Login): void {
    if (client.isClosed) return;
    const { session } = login;
    // If Aedes has not done so yet [MQTT-3.1.4-2].
    this.#open.get(session.key)?.client?.close(endOf('taken-over'));
    this.show(session.key, () => viewOf(client, login), client);
    this.#wills.opened(session);
    client.open();
    if (!client.isOpen) return;
    const principal = session.owner.key;
    this.#options.log.info({ clientId: session.clientId, principal }, 'connected');
  }

  /** Ends the oldest connections with an incomplete CONNECT if all have too many bytes. */
  #boundStrangers(): void {
    let bytes = 0;
    for (const { incoming } of this.#strangers) bytes += incoming.bytes;
    for (const client of this.#strangers) {
      if (bytes <= MAX_BYTES_OF_STRANGERS) return;
      if (client.incoming.bytes === 0) continue;
      bytes -= client.incoming.bytes;
      this.#nameStranger(client);
      client.close();
    }
  }

  #nameStranger(client: Client): void {
    if (client.login !== undefined) return;
    this.#options.watch.exceeded('newcomers', `address:${networkOf(client.address)}`);
  }

  #excessOf(held: number, quotas: ConnectionQuotas): Quota | undefined {
    if (held >= quotas.connections) return 'connections';
    const maxLoggedIn = Math.floor(this.#options.maxConnections * (1 - PART_OF_STRANGERS));
    return this.#owners.size >= maxLoggedIn ? 'all-connections' : undefined;
  }

  #check(): void {
    const nowMs = performance.now();
    const isHeldUp = nowMs - this.#checkedAtMs > HELD_UP_AFTER_MS;
    this.#checkedAtMs = nowMs;
    // Packets that arrived meanwhile are still in the system's buffers; they are read before the next check.
    if (isHeldUp) return;
    for (const client of this.#strangers) client.check(nowMs);
    this.#boundStrangers();
    for (const { client } of this.#open.values()) client?.check(nowMs);
  }
}

/** The connection that has been silent longest beyond its keep-alive, a duty of the client [MQTT-3.1.2-23]. */
function longestOverdue(connections: Iterable<Counted>): Counted | undefined {
  let longest: Counted | undefined;
  for (const one of connections) {
    if (one.silentMs <= one.keepAliveMs) continue;
    if (longest === undefined || one.silentMs > longest.silentMs) longest = one;
  }
  return longest;
}

function viewOf(client: Client, login: Login): ReturnType<Shown['view']> {
  const { principal, session, flow, keepAliveMs } = login;
  const { alarms = 0, messages = 0 } = session.consumer?.queued ?? {};
  const slowed = flow.slowedAt(performance.now());
  return {
    clientId: session.clientId,
    principal: { type: principal.type === 'device' ? 'device' : 'access-token', id: principal.id },
    address: client.address,
    protocol: client.protocol,
    mqttVersion: VERSION_NAMES[client.version ?? 4],
    keepAliveSeconds: keepAliveMs / 1_000,
    backlog: { alarms, messages },
    slowed: slowed
      ? { since: formatTime(slowed.sinceMs), limit: limitKey(principal, slowed.limit) }
      : null,
  };
}
