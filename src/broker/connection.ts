import type { Client } from 'aedes';
import type { Destination } from '../delivery/destination.js';
import type { Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import type { Acknowledgement } from './client-receiver.js';
import { ClientReceiver } from './client-receiver.js';
import type { Intake } from './intake.js';
import type { Peer } from './refusal-report.js';

/** How many publishes of one client may be on their way to the store before it is read no further. */
const MAX_UNSTORED = 100;

/** Each costs the store a packet until PUBREL comes. */
const MAX_UNRELEASED = 1_000;

/** A client that has shown a valid credential, for as long as its connection lasts. */
export class Connection {
  readonly client: Client;
  readonly principal: Principal;
  readonly receiver: ClientReceiver;
  /** From where the client comes. */
  readonly address: string;
  readonly #destination: Destination;
  /** Packet identifiers of QoS 2 publishes that the client has not released. */
  readonly #unreleased = new Set<number>();
  #isOpen = false;
  #isCredentialEnded = false;
  readonly #intake: Intake;
  #acknowledged: Promise<void> = Promise.resolve();
  #unstored = 0;
  #waitingForRoom: (() => void)[] = [];

  constructor(
    client: Client,
    principal: Principal,
    address: string,
    destination: Destination,
    intake: Intake,
  ) {
    this.client = client;
    this.principal = principal;
    this.address = address;
    this.#destination = destination;
    this.#intake = intake;
    this.receiver = new ClientReceiver(client, () => destination.wake());
  }

  get owner(): string {
    return principalKey(this.principal);
  }

  /** Who the client is to the audit trail. */
  get peer(): Peer {
    return { principal: this.principal, address: this.address, clientId: this.client.id };
  }

  get destination(): Destination {
    return this.#destination;
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
    this.#destination.connect(this.receiver);
  }

  /** Nothing is sent any more. Returns false when it was closed before, or never open. */
  close(): boolean {
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    this.receiver.close();
    this.#destination.disconnect(this.receiver);
    return true;
  }

  /**
   * A QoS 2 publish has come: its packet identifier is kept until PUBREL. Returns false when the
   * client has too many.
   */
  holds(messageId: number | undefined): boolean {
    if (messageId !== undefined) this.#unreleased.add(messageId);
    return this.#unreleased.size <= MAX_UNRELEASED;
  }

  /** The packet identifier is free again. */
  released(messageId: number): void {
    this.#unreleased.delete(messageId);
  }

  /**
   * Acknowledges a publish once it is stored, in the order in which the publishes came
   * [MQTT-4.6.0-2], [MQTT-4.6.0-3]. One that could not be stored ends the connection: the client
   * sends it again.
   *
   * @param acknowledgement undefined for a QoS 0 publish, which nobody acknowledges
   * @param bytes how much memory it takes until then
   */
  acknowledgeWhen(
    stored: Promise<void>,
    acknowledgement: Acknowledgement | undefined,
    bytes: number,
  ): void {
    this.#unstored++;
    this.#intake.taken(bytes);
    const before = this.#acknowledged;
    this.#acknowledged = Promise.allSettled([stored, before]).then(([outcome]) => {
      this.#unstored--;
      if (outcome.status === 'rejected') this.client.close();
      else if (acknowledgement !== undefined) this.receiver.acknowledge(acknowledgement);
      for (const proceed of this.#waitingForRoom.splice(0)) proceed();
      this.#intake.stored(bytes);
    });
  }

  /** Something of the client waits for the store: it counts as a publish that is on its way there. */
  waitsFor(answer: Promise<unknown>): void {
    this.#unstored++;
    const answered = () => {
      this.#unstored--;
      for (const proceed of this.#waitingForRoom.splice(0)) proceed();
    };
    answer.then(answered, answered);
  }

  /** Whether more may be read from the client; not when too much is on its way to the store. */
  get hasRoom(): boolean {
    return this.#unstored < MAX_UNSTORED && this.#intake.hasRoom;
  }

  /** Calls back when more may be read from the client, at once unless too much is on its way. */
  whenThereIsRoom(proceed: () => void): void {
    if (this.#unstored < MAX_UNSTORED) this.#intake.whenThereIsRoom(proceed);
    else this.#waitingForRoom.push(() => this.#intake.whenThereIsRoom(proceed));
  }
}
