import type { Client } from 'aedes';
import type { Destination } from '../delivery/destination.js';
import type { Principal } from '../domain/grants.js';
import { principalKey } from '../domain/grants.js';
import type { Acknowledgement } from './client-receiver.js';
import { ClientReceiver } from './client-receiver.js';
import type { IntakeShare } from './intake.js';
import { ReadPace } from './read-pace.js';
import type { Peer } from './refusal-report.js';

/** Each costs the store a packet until PUBREL comes. */
const MAX_UNRELEASED = 1_000;

/** A client that has shown a valid credential, for as long as its connection lasts. */
export class Connection {
  readonly client: Client;
  readonly principal: Principal;
  readonly receiver: ClientReceiver;
  readonly pace: ReadPace;
  /** From where the client comes. */
  readonly address: string;
  readonly #destination: Destination;
  /** Packet identifiers of QoS 2 publishes that the client has not released. */
  readonly #unreleased = new Set<number>();
  #isOpen = false;
  #isCredentialEnded = false;
  readonly #share: IntakeShare;
  #acknowledged: Promise<unknown> = Promise.resolve();
  #hasTurnedAway = false;
  #hasTurnedAwayAlarm = false;

  constructor(
    client: Client,
    principal: Principal,
    address: string,
    destination: Destination,
    share: IntakeShare,
  ) {
    this.client = client;
    this.principal = principal;
    this.address = address;
    this.#destination = destination;
    this.#share = share;
    this.pace = new ReadPace(share, () => this.#roomCame());
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
    this.pace.end();
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
   * Whether a publish can be kept until it is stored. Of one that is to be acknowledged no later one of
   * its kind is kept either: they come again in their order.
   */
  keeps(isAlarm: boolean, qos: number): boolean {
    const isOutOfTurn = isAlarm ? this.#hasTurnedAwayAlarm : this.#hasTurnedAway;
    return !(isOutOfTurn && qos > 0) && this.pace.keeps(isAlarm);
  }

  /**
   * A publish that cannot be kept has come. Nothing is acknowledged after it, also what is stored
   * [MQTT-4.6.0-2]; once there is room again the connection ends, and the client sends it again.
   */
  turnAway(isAlarm: boolean, qos: number): void {
    this.#share.intake.notKept();
    if (qos === 0) return;
    this.#hasTurnedAway = true;
    if (isAlarm) this.#hasTurnedAwayAlarm = true;
  }

  /**
   * Acknowledges a publish once it is stored, in the order in which the publishes came
   * [MQTT-4.6.0-2], [MQTT-4.6.0-3]. One that could not be stored ends the connection: the client
   * sends it again.
   *
   * @param stored to whether it is the store that has taken it: others tell nothing about its pace
   * @param acknowledgement undefined for a QoS 0 publish, which nobody acknowledges
   * @param bytes how much memory it takes until then
   */
  acknowledgeWhen(
    stored: Promise<boolean>,
    acknowledgement: Acknowledgement | undefined,
    bytes: number,
  ): void {
    this.#share.taken(bytes);
    const settled = stored.then(
      () => true,
      () => false,
    );
    stored.then(
      (isStored) => (isStored ? this.#share.stored(bytes) : this.#share.released(bytes)),
      () => this.#share.released(bytes),
    );
    if (acknowledgement === undefined || this.#hasTurnedAway) {
      // Not in the line of those that are acknowledged: it grows no longer than they are many.
      settled.then((isStored) => {
        if (!isStored) this.#acknowledged.then(() => this.client.close());
      });
      return;
    }
    this.#acknowledged = Promise.all([settled, this.#acknowledged]).then(([isStored]) => {
      if (isStored) this.receiver.acknowledge(acknowledgement);
      else this.client.close();
    });
  }

  /** Something of the client waits for the store: it takes room as a publish does. */
  waitsFor(answer: Promise<unknown>, bytes: number): void {
    this.#share.taken(bytes);
    const answered = () => this.#share.released(bytes);
    answer.then(answered, answered);
  }

  #roomCame(): void {
    if (this.#hasTurnedAway) this.#acknowledged.then(() => this.client.close());
  }
}
