import type { Consumer } from '../delivery/consumer.js';
import type { Session } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { Principal } from '../domain/grants.js';
import type { DeniedReason, Transport } from '../site/access/connection-list.js';
import type { ConnectRequest } from './admission/connect-request.js';
import { endOf, type Peer } from './admission/connection-denials.js';
import type { Budget, ReachedLimit } from './budgets/budgets.js';
import type { Slowed, Slowing } from './budgets/slowing.js';
import { type BackPressure, type Share, UnstoredPublishes } from './budgets/unstored-publishes.js';
import type { ClientTerms } from './wire/client-terms.js';
import type { NetworkConnection } from './wire/network-connection.js';
import { PacketWriter } from './wire/packet-writer.js';

/** How long one alarm over a device's limit holds up its hub: the others' alarms must come within a second (contract 4.4). */
const HUB_HOLD_MS = 400;

/** The connection of an authenticated client. */
export class Connection {
  readonly network: NetworkConnection;
  readonly principal: Principal;
  /** `principalKey` of the principal. */
  readonly owner: string;
  readonly session: Session;
  readonly sessions: Pick<Sessions, 'setExpiry'>;
  readonly writer: PacketWriter;
  readonly share: Share;
  readonly unstored: UnstoredPublishes;
  readonly address: string;
  readonly protocol: Transport;
  readonly terms: ClientTerms;
  readonly keepAliveMs: number;
  readonly budget: Budget;
  readonly #backPressure: BackPressure;
  readonly #slowing: Slowing;
  readonly #onEnd: (peer: Peer, code: DeniedReason) => void;
  /** Of a device behind this hub that has sent more alarms than it may. */
  #indebted: Budget | undefined;
  #isOpen = false;
  #isCredentialEnded = false;

  constructor(options: {
    readonly network: NetworkConnection;
    readonly principal: Principal;
    readonly request: ConnectRequest;
    readonly keepAliveMs: number;
    readonly session: Session;
    readonly sessions: Pick<Sessions, 'setExpiry'>;
    readonly backPressure: BackPressure;
    readonly budget: Budget;
    readonly slowing: Slowing;
    /** Called when the client leaves its messages unread. */
    readonly onUnread: () => void;
    /** Called when the gateway ends the connection. */
    readonly onEnd: (peer: Peer, code: DeniedReason) => void;
  }) {
    this.network = options.network;
    this.principal = options.principal;
    this.owner = options.session.owner.key;
    this.address = options.request.address;
    this.protocol = options.request.protocol;
    this.terms = options.request.terms;
    this.keepAliveMs = options.keepAliveMs;
    this.session = options.session;
    this.sessions = options.sessions;
    this.budget = options.budget;
    this.#slowing = options.slowing;
    this.#backPressure = options.backPressure;
    this.share = options.backPressure.shareOf(this.owner);
    this.#onEnd = options.onEnd;
    this.writer = new PacketWriter(options.network, this.terms, {
      onWritable: () => this.consumer?.wake(),
      onUnread: options.onUnread,
      end: () => {
        this.#onEnd(this.peer, 'messages-unread');
        this.network.close();
      },
    });
    const { share, writer } = this;
    this.unstored = new UnstoredPublishes({
      backPressure: options.backPressure,
      share,
      writer,
      end: () => this.end('not-stored'),
    });
  }

  /** Undefined until a client with a clean session has subscribed. */
  get consumer(): Consumer | undefined {
    return this.session.consumer;
  }

  /** Which limit slows the principal, and since when; undefined: none does. */
  get slowed(): Slowed | undefined {
    return this.#slowing.of(this.#indebted ?? this.budget);
  }

  /** The client as the audit trail names it. */
  get peer(): Peer {
    const { principal, address, terms, session } = this;
    return { principal, address, clientId: session.clientId, version: terms.version };
  }

  /** Whether the credential has ended; then nothing is published any more, not even the will. */
  get isCredentialEnded(): boolean {
    return this.#isCredentialEnded;
  }

  /** Ends the connection of a client whose credential is no longer valid. */
  endCredential(): void {
    this.#isCredentialEnded = true;
    this.end('credential-ended');
  }

  /** Ends the connection, and says why. */
  end(code: DeniedReason): void {
    if (this.network.isClosed) return;
    this.#onEnd(this.peer, code);
    this.network.close(endOf(code));
  }

  /** Opens the connection, once CONNACK is sent. */
  open(): void {
    this.#isOpen = true;
    this.consumer?.connect(this.writer);
  }

  /** Starts sending messages once the client has subscribed. */
  receive(): void {
    if (this.#isOpen && this.consumer?.isConnected === false) this.consumer.connect(this.writer);
  }

  /** Stops sending. Returns false if the connection was already closed, or never open. */
  close(): boolean {
    this.unstored.close();
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.writer.close();
    this.consumer?.disconnect(this.writer);
    return true;
  }

  /** Charges an alarm to its device, also through a hub, whose own budget has no limit of alarms. */
  chargeAlarm(budget: Budget): void {
    budget.countAlarm();
    if (budget === this.budget) return;
    const nowMs = performance.now();
    budget.take(0, 0, nowMs);
    if (!budget.isFree) this.#indebted = budget;
  }

  /** The budget that must be free before the client is read again; undefined: none. */
  owing(nowMs: number): { readonly budget: Budget; readonly limit: ReachedLimit } | undefined {
    for (const budget of [this.budget, this.#indebted]) {
      const limit = budget?.isFree === false ? budget.reachedLimit(nowMs) : undefined;
      if (budget !== undefined && limit !== undefined) return { budget, limit };
    }
    this.#indebted = undefined;
    return undefined;
  }

  /** Whether nothing slows the client, as far as is known without looking at the clock. */
  get isFree(): boolean {
    return this.budget.isFree && this.#indebted === undefined;
  }

  /** Calls back once the client may be read again. The returned function cancels that. */
  whenThereIsRoom(proceed: () => void): () => void {
    return this.#backPressure.whenThereIsRoom(() => this.share.mayRead, proceed);
  }

  /**
   * Calls back once the budget is free. The returned function cancels that.
   *
   * For one device of a hub it calls back after `HUB_HOLD_MS` at the latest: the others behind the hub must not wait longer.
   */
  whenWithinBudget(budget: Budget, limit: ReachedLimit, proceed: () => void): () => void {
    if (budget === this.budget) return this.#slowing.hold(budget, limit, proceed);
    const end = () => {
      clearTimeout(timer);
      cancel();
    };
    const resume = () => {
      end();
      this.#indebted = undefined;
      proceed();
    };
    const timer = setTimeout(resume, HUB_HOLD_MS);
    const cancel = this.#slowing.hold(budget, limit, resume);
    return end;
  }
}
