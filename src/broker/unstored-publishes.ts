import type { Client } from 'aedes';
import {
  type AcknowledgementType,
  encodeAcknowledgement,
  type PacketWriter,
} from './packet-writer.js';

const MIB = 1024 * 1024;

/**
 * What all principals together may have on its way to the store before clients are read no further:
 * some 800 publishes. A publish that comes then waits for them.
 */
const HOLD_TOTAL_BYTES = 2 * MIB;
/** Each principal's reserve, a few publishes, which the total does not touch. */
const RESERVED_BYTES = 16 * 1024;

/**
 * A store that owes an answer for longer is slow: clients are read on, so that an alarm behind
 * hundreds of others comes through in time (CONTRACT 4.4).
 */
const SLOW_AFTER_MS = 250;
/** Bounds for one principal, and for all together, while the store is slow. */
const MAX_OWN_BYTES = 12 * MIB;
const MAX_TOTAL_BYTES = 64 * MIB;
/** How many times that much is kept of alarms, and of connections. */
const OF_ALARMS = 3;
const OF_CONNECTIONS = 2;

/** Memory of an unstored publish beside its payload, and how many copies of that exist. */
const BYTES_OF_ANY = 2_048;
const COPIES_OF_PAYLOAD = 4;

const LOOK_EVERY_MS = 50;

/** How much memory a publish takes, about, until it is stored. */
export function memoryOf(payloadBytes: number): number {
  return BYTES_OF_ANY + COPIES_OF_PAYLOAD * payloadBytes;
}

interface Held {
  readonly isRoom: () => boolean;
  readonly proceed: () => void;
}

/**
 * Back-pressure: clients are read as fast as the store takes what they publish.
 *
 * Bounds the memory of what is on its way to the store, while it is away as well.
 */
export class BackPressure {
  readonly #unansweredMs: () => number;
  /** By principal: further connections of one get no more of it. */
  readonly #shares = new Map<string, Share>();
  readonly #held = new Set<Held>();
  #unstoredBytes = 0;
  #unkeptCount = 0;
  #isLooking = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param unansweredMs for how long the store has owed the answer to a write */
  constructor(unansweredMs: () => number) {
    this.#unansweredMs = unansweredMs;
  }

  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  /** How many publishes found no room since the start. */
  get unkeptCount(): number {
    return this.#unkeptCount;
  }

  get isStoreSlow(): boolean {
    return this.#unansweredMs() > SLOW_AFTER_MS;
  }

  shareOf(owner: string): Share {
    const share = this.#shares.get(owner) ?? new Share(this);
    this.#shares.set(owner, share);
    return share;
  }

  /** Calls back once there is room, which is not there now; the result calls that off. */
  whenThereIsRoom(isRoom: () => boolean, proceed: () => void): () => void {
    const held = { isRoom, proceed };
    this.#held.add(held);
    // A store that turns slow may make room as well.
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS);
    return () => this.#held.delete(held);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#held.clear();
  }

  notKept(): void {
    this.#unkeptCount++;
  }

  take(bytes: number): void {
    this.#unstoredBytes += bytes;
  }

  release(bytes: number): void {
    this.#unstoredBytes -= bytes;
    if (this.#held.size === 0 || this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => this.#look());
  }

  #look(): void {
    this.#isLooking = false;
    for (const held of this.#held) {
      if (!held.isRoom()) continue;
      this.#held.delete(held);
      held.proceed();
    }
    if (this.#held.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** One principal's unstored publishes, in bytes. */
export class Share {
  readonly #all: BackPressure;
  #bytes = 0;

  constructor(all: BackPressure) {
    this.#all = all;
  }

  /** Whether the principal's clients may be read further. */
  get mayRead(): boolean {
    if (this.#bytes < RESERVED_BYTES) return true;
    if (this.#all.isStoreSlow) return this.#isWithin(OF_ALARMS);
    return this.#all.unstoredBytes < HOLD_TOTAL_BYTES;
  }

  /** Whether one more publish can be kept until it is stored; telemetry must not take alarms' room. */
  keeps(isAlarm: boolean): boolean {
    return this.#isWithin(isAlarm ? OF_ALARMS : 1);
  }

  /** Whether what was turned away can be sent again. */
  get isRelieved(): boolean {
    return !this.#all.isStoreSlow && this.keeps(false);
  }

  /** Whether one more connection can be admitted; none must take the room of alarms. */
  get hasRoomForConnection(): boolean {
    return this.#isWithin(OF_CONNECTIONS);
  }

  take(bytes: number): void {
    this.#bytes += bytes;
    this.#all.take(bytes);
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#all.release(bytes);
  }

  /** Something of the principal waits for the store until this settles. */
  takeUntil(settled: Promise<unknown>, bytes: number): void {
    this.take(bytes);
    const release = () => this.release(bytes);
    settled.then(release, release);
  }

  #isWithin(times: number): boolean {
    if (this.#bytes < times * RESERVED_BYTES) return true;
    return this.#bytes < times * MAX_OWN_BYTES && this.#all.unstoredBytes < times * MAX_TOTAL_BYTES;
  }
}

/** A publish that is to be acknowledged. */
interface Unacknowledged {
  readonly type: AcknowledgementType;
  readonly packetIdentifier: number;
  isStored: boolean;
  /** The one that came after it. */
  next: Unacknowledged | undefined;
}

export interface UnstoredPublishesOptions {
  readonly backPressure: BackPressure;
  readonly share: Share;
  readonly writer: Pick<PacketWriter, 'write'>;
  readonly client: Pick<Client, 'close'>;
}

/**
 * The publishes of one connection that are on their way to the store. Acknowledges them in the order
 * in which they came [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class UnstoredPublishes {
  readonly #options: UnstoredPublishesOptions;
  /** The first and the last of a linked list: a client that never pauses must not make it longer. */
  #first: Unacknowledged | undefined;
  #last: Unacknowledged | undefined;
  #whenAllAreAcknowledged: (() => void) | undefined;
  #hasTurnedAway = false;
  #hasTurnedAwayAlarm = false;
  #callOff: (() => void) | undefined;

  constructor(options: UnstoredPublishesOptions) {
    this.#options = options;
  }

  /** The connection is gone. */
  close(): void {
    this.#callOff?.();
  }

  /**
   * Whether a publish can be kept until it is stored. Of one that is to be acknowledged no later one of
   * its kind is kept either: they come again in their order.
   */
  keeps(isAlarm: boolean, qos: number): boolean {
    const isOutOfTurn = isAlarm ? this.#hasTurnedAwayAlarm : this.#hasTurnedAway;
    return !(isOutOfTurn && qos > 0) && this.#options.share.keeps(isAlarm);
  }

  /**
   * A publish that cannot be kept has come. Nothing is acknowledged after it, also what is stored
   * [MQTT-4.6.0-2]; once there is room again the connection ends, and the client sends it again.
   */
  turnAway(isAlarm: boolean, qos: number): void {
    const { backPressure, share, client } = this.#options;
    const end = () => client.close();
    backPressure.notKept();
    if (qos === 0) return;
    this.#hasTurnedAway = true;
    if (isAlarm) this.#hasTurnedAwayAlarm = true;
    this.#callOff ??= backPressure.whenThereIsRoom(
      () => share.isRelieved,
      () => {
        if (this.#first === undefined) end();
        else this.#whenAllAreAcknowledged = end;
      },
    );
  }

  /** Takes room for a publish. The returned function is to be called once it is stored, or is not. */
  take(publish: {
    readonly bytes: number;
    readonly acknowledgement: AcknowledgementType | undefined;
    readonly packetIdentifier: number;
  }): (isStored: boolean) => void {
    const { share, client } = this.#options;
    const { bytes, acknowledgement: type, packetIdentifier } = publish;
    share.take(bytes);
    const unacknowledged =
      type === undefined || this.#hasTurnedAway ? undefined : this.#add(type, packetIdentifier);
    return (isStored) => {
      share.release(bytes);
      if (!isStored) {
        // The client sends it again.
        client.close();
      } else if (unacknowledged !== undefined) {
        unacknowledged.isStored = true;
        this.#acknowledge();
      }
    };
  }

  #add(type: AcknowledgementType, packetIdentifier: number): Unacknowledged {
    const added = { type, packetIdentifier, isStored: false, next: undefined };
    if (this.#last === undefined) this.#first = added;
    else this.#last.next = added;
    this.#last = added;
    return added;
  }

  #acknowledge(): void {
    while (this.#first?.isStored === true) {
      const { type, packetIdentifier, next } = this.#first;
      this.#options.writer.write(encodeAcknowledgement(type, packetIdentifier));
      this.#first = next;
    }
    if (this.#first !== undefined) return;
    this.#last = undefined;
    this.#whenAllAreAcknowledged?.();
    this.#whenAllAreAcknowledged = undefined;
  }
}
