import type { Client } from 'aedes';
import type { Consumer } from '../delivery/consumer.js';
import type { Session } from '../delivery/sessions.js';
import type { Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import { Acknowledgements } from './acknowledgements.js';
import type { BackPressure, Share } from './back-pressure.js';
import { ClientReceiver } from './client-receiver.js';
import type { Peer } from './denials.js';

/** A client that has shown a valid credential, for as long as its connection lasts. */
export class Connection {
  readonly client: Client;
  readonly principal: Principal;
  /** `principalKey` of the principal. */
  readonly owner: string;
  readonly session: Session;
  readonly receiver: ClientReceiver;
  readonly acknowledgements: Acknowledgements;
  readonly share: Share;
  /** From where the client comes. */
  readonly address: string;
  readonly keepAliveMs: number;
  readonly #backPressure: BackPressure;
  #isOpen = false;
  #isCredentialEnded = false;
  #hasTurnedAway = false;
  #hasTurnedAwayAlarm = false;
  #callOff: (() => void) | undefined;

  constructor(options: {
    readonly client: Client;
    readonly principal: Principal;
    readonly address: string;
    readonly keepAliveMs: number;
    readonly session: Session;
    readonly backPressure: BackPressure;
  }) {
    this.client = options.client;
    this.principal = options.principal;
    this.owner = principalKey(options.principal);
    this.address = options.address;
    this.keepAliveMs = options.keepAliveMs;
    this.session = options.session;
    this.#backPressure = options.backPressure;
    this.share = options.backPressure.shareOf(this.owner);
    this.receiver = new ClientReceiver(options.client, () => this.consumer.wake());
    this.acknowledgements = new Acknowledgements((bytes) => this.receiver.write(bytes));
  }

  /** Who the client is to the audit trail. */
  get peer(): Peer {
    return { principal: this.principal, address: this.address, clientId: this.client.id };
  }

  get consumer(): Consumer {
    return this.session.consumer;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the client may publish nothing any more, its will included. */
  get isCredentialEnded(): boolean {
    return this.#isCredentialEnded;
  }

  /** Ends the connection of a client whose credential is no longer valid. */
  endCredential(): void {
    this.#isCredentialEnded = true;
    this.client.close();
  }

  /** CONNACK is sent: messages may follow. */
  open(): void {
    this.#isOpen = true;
    this.consumer.connect(this.receiver);
  }

  /** Nothing is sent any more. Returns false when the connection was closed before, or never open. */
  close(): boolean {
    this.#callOff?.();
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.receiver.close();
    this.consumer.disconnect(this.receiver);
    return true;
  }

  /**
   * Whether a publish can be kept until it is stored. Of one that is to be acknowledged no later one of
   * its kind is kept either: they come again in their order.
   */
  keeps(isAlarm: boolean, qos: number): boolean {
    const isOutOfTurn = isAlarm ? this.#hasTurnedAwayAlarm : this.#hasTurnedAway;
    return !(isOutOfTurn && qos > 0) && this.share.keeps(isAlarm);
  }

  /** Whether nothing that comes is acknowledged any more: something before was turned away. */
  get hasTurnedAway(): boolean {
    return this.#hasTurnedAway;
  }

  /** Calls back once the client, which may not be read now, may be; the result calls that off. */
  whenThereIsRoom(proceed: () => void): () => void {
    return this.#backPressure.whenThereIsRoom(() => this.share.mayRead, proceed);
  }

  /**
   * A publish that cannot be kept has come. Nothing is acknowledged after it, also what is stored
   * [MQTT-4.6.0-2]; once there is room again the connection ends, and the client sends it again.
   */
  turnAway(isAlarm: boolean, qos: number): void {
    this.#backPressure.notKept();
    if (qos === 0) return;
    this.#hasTurnedAway = true;
    if (isAlarm) this.#hasTurnedAwayAlarm = true;
    this.#callOff ??= this.#backPressure.whenThereIsRoom(
      () => this.share.isRelieved,
      () => this.acknowledgements.whenEmpty(() => this.client.close()),
    );
  }
}
