import type { Refusal } from '../../mqtt/codes.js';
import type { AcknowledgementType } from '../../mqtt/encode.js';
import type { PacketWriter } from '../wire/packet-writer.js';

const MIB = 1024 * 1024;

/**
 * At this many unstored bytes of all principals, the gateway stops reading clients.
 *
 * About 800 publishes; a publish that arrives then waits for them.
 */
const HOLD_TOTAL_BYTES = 2 * MIB;
/** Each principal's reserve of a few publishes; the total does not affect it. */
const RESERVED_BYTES = 16 * 1024;

/**
 * A store that takes nothing for longer is slow, whether it does not answer or refuses: reading goes on, for live alarms
 * (docs/reference/contract.md, 4.4).
 */
const SLOW_AFTER_MS = 250;
const AT_ONCE_MS = 1;
/** Bounds for one principal, and for all together, while the store is slow. */
const MAX_OWN_BYTES = 12 * MIB;
const MAX_TOTAL_BYTES = 64 * MIB;
/** For alarms these bounds are this many times higher. */
const OF_ALARMS = 3;

/** Memory of an unstored publish besides its payload, and the number of copies of the payload. */
const BYTES_OF_ANY = 2_048;
const COPIES_OF_PAYLOAD = 4;

const CHECK_INTERVAL_MS = 50;

/** Estimated memory of a publish until it is stored, in bytes. */
export function memoryOf(payloadBytes: number): number {
  return BYTES_OF_ANY + COPIES_OF_PAYLOAD * payloadBytes;
}

interface Held {
  readonly isRoom: () => boolean;
  readonly proceed: () => void;
}

/**
 * Back-pressure: clients are read as fast as the store takes their publishes.
 *
 * This bounds the memory of publishes on their way to the store, even while it is away.
 */
export class BackPressure {
  /** By principal: more connections do not get it more room. */
  readonly #shares = new Map<string, Share>();
  readonly #held = new Set<Held>();
  /** When each was taken, the oldest first. */
  readonly #unstored = new Set<{ readonly takenAtMs: number }>();
  /** When the store last took one that had waited. */
  #storedAtMs = 0;
  #unstoredBytes = 0;
  #unkeptCount = 0;
  #isChecking = false;
  #timer: NodeJS.Timeout | undefined;

  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  /** How many publishes found no room since the start. */
  get unkeptCount(): number {
    return this.#unkeptCount;
  }

  get isStoreSlow(): boolean {
    const [oldest] = this.#unstored;
    if (oldest === undefined) return false;
    return performance.now() - Math.max(oldest.takenAtMs, this.#storedAtMs) > SLOW_AFTER_MS;
  }

  shareOf(owner: string): Share {
    const share = this.#shares.get(owner) ?? new Share(this);
    this.#shares.set(owner, share);
    return share;
  }

  /** Forgets a principal (`principalKey`) that is gone; what it holds still counts. */
  forget(owner: string): void {
    this.#shares.delete(owner);
  }

  /** Calls back once there is room. The returned function cancels that. */
  whenThereIsRoom(isRoom: () => boolean, proceed: () => void): () => void {
    const held = { isRoom, proceed };
    this.#held.add(held);
    // A store that becomes slow may make room as well.
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS);
    return () => this.#held.delete(held);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#held.clear();
  }

  notKept(): void {
    this.#unkeptCount++;
  }

  /** Takes room until the returned function is called. */
  take(bytes: number): () => void {
    const unstored = { takenAtMs: performance.now() };
    this.#unstored.add(unstored);
    this.#unstoredBytes += bytes;
    return () => {
      this.#unstored.delete(unstored);
      this.#unstoredBytes -= bytes;
      const nowMs = performance.now();
      // What needs no store is taken at once, and says nothing about it.
      if (nowMs - unstored.takenAtMs > AT_ONCE_MS) this.#storedAtMs = nowMs;
      this.#makeRoom();
    };
  }

  #makeRoom(): void {
    if (this.#held.size === 0 || this.#isChecking) return;
    this.#isChecking = true;
    setImmediate(() => this.#check());
  }

  #check(): void {
    this.#isChecking = false;
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
  /** Of these, what SUBSCRIBEs wait with: reading on is for alarms, and no reason to gather more of them. */
  #subscribingBytes = 0;

  constructor(all: BackPressure) {
    this.#all = all;
  }

  /** Whether the principal's clients may be read further. */
  get mayRead(): boolean {
    if (this.#bytes < RESERVED_BYTES) return true;
    if (this.#subscribingBytes >= HOLD_TOTAL_BYTES) return false;
    if (this.#all.isStoreSlow) return this.#isWithin(OF_ALARMS);
    return this.#all.unstoredBytes < HOLD_TOTAL_BYTES;
  }

  /** Whether one more publish can be kept until it is stored; telemetry must not take alarms' room. */
  keeps(isAlarm: boolean): boolean {
    return this.#isWithin(isAlarm ? OF_ALARMS : 1);
  }

  /** Whether the client may resend the publishes that were turned away. */
  get isRelieved(): boolean {
    return !this.#all.isStoreSlow && this.keeps(false);
  }

  /** Takes room until the returned function is called. */
  take(bytes: number): () => void {
    this.#bytes += bytes;
    const release = this.#all.take(bytes);
    return () => {
      this.#bytes -= bytes;
      release();
    };
  }

  /** Takes room for a SUBSCRIBE until the promise settles. */
  takeUntil(stored: Promise<unknown>, bytes: number): void {
    const release = this.take(bytes);
    this.#subscribingBytes += bytes;
    const end = () => {
      this.#subscribingBytes -= bytes;
      release();
    };
    stored.then(end, end);
  }

  #isWithin(times: number): boolean {
    if (this.#bytes < times * RESERVED_BYTES) return true;
    return this.#bytes < times * MAX_OWN_BYTES && this.#all.unstoredBytes < times * MAX_TOTAL_BYTES;
  }
}

/** A publish whose acknowledgement is pending. */
interface Unacknowledged {
  readonly type: AcknowledgementType;
  readonly packetIdentifier: number;
  isStored: boolean;
  refusal: Refusal | undefined;
  /** The publish that came next. */
  next: Unacknowledged | undefined;
}

export interface UnstoredPublishesOptions {
  readonly backPressure: BackPressure;
  readonly share: Share;
  readonly writer: Pick<PacketWriter, 'acknowledge'>;
  /** Ends the connection, so that the client resends what was not acknowledged. */
  readonly end: () => void;
}

/**
 * Acknowledges a connection's publishes once they are stored.
 *
 * Acknowledgements go out in the order of the publishes [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class UnstoredPublishes {
  readonly #options: UnstoredPublishesOptions;
  /** The ends of a linked list: it must not grow if the client never pauses. */
  #first: Unacknowledged | undefined;
  #last: Unacknowledged | undefined;
  #whenAllAreAcknowledged: (() => void) | undefined;
  #hasTurnedAway = false;
  #hasTurnedAwayAlarm = false;
  #cancelWait: (() => void) | undefined;

  constructor(options: UnstoredPublishesOptions) {
    this.#options = options;
  }

  /** Stops waiting for room: the connection is gone. */
  close(): void {
    this.#cancelWait?.();
  }

  /**
   * Whether a publish can be kept until it is stored.
   *
   * After a QoS 1 or 2 publish was turned away, later ones of its kind are not kept either: the
   * client resends them in order.
   */
  keeps(isAlarm: boolean, qos: number): boolean {
    const isOutOfTurn = isAlarm ? this.#hasTurnedAwayAlarm : this.#hasTurnedAway;
    return !(isOutOfTurn && qos > 0) && this.#options.share.keeps(isAlarm);
  }

  /**
   * Turns away a publish that cannot be kept.
   *
   * No later publish is acknowledged, even if it is stored [MQTT-4.6.0-2]. Once there is room again
   * the connection ends, and the client resends the publish.
   */
  turnAway(isAlarm: boolean, qos: number): void {
    const { backPressure, share, end } = this.#options;
    backPressure.notKept();
    if (qos === 0) return;
    this.#hasTurnedAway = true;
    if (isAlarm) this.#hasTurnedAwayAlarm = true;
    this.#cancelWait ??= backPressure.whenThereIsRoom(
      () => share.isRelieved,
      () => {
        if (this.#first === undefined) end();
        else this.#whenAllAreAcknowledged = end;
      },
    );
  }

  /** Takes room for a publish. The returned function must be called with the outcome. */
  take(publish: {
    readonly bytes: number;
    readonly acknowledgement: AcknowledgementType | undefined;
    readonly packetIdentifier: number;
  }): (isStored: boolean, refusal?: Refusal) => void {
    const { share, end } = this.#options;
    const { bytes, acknowledgement: type, packetIdentifier } = publish;
    const release = share.take(bytes);
    const unacknowledged =
      type === undefined || this.#hasTurnedAway ? undefined : this.#add(type, packetIdentifier);
    return (isStored, refusal) => {
      release();
      if (!isStored) {
        end();
      } else if (unacknowledged !== undefined) {
        unacknowledged.isStored = true;
        unacknowledged.refusal = refusal;
        this.#acknowledge();
      }
    };
  }

  #add(type: AcknowledgementType, packetIdentifier: number): Unacknowledged {
    const state = { isStored: false, refusal: undefined, next: undefined };
    const added: Unacknowledged = { type, packetIdentifier, ...state };
    if (this.#last === undefined) this.#first = added;
    else this.#last.next = added;
    this.#last = added;
    return added;
  }

  #acknowledge(): void {
    while (this.#first?.isStored === true) {
      const { type, packetIdentifier, refusal, next } = this.#first;
      this.#options.writer.acknowledge(type, packetIdentifier, refusal);
      this.#first = next;
    }
    if (this.#first !== undefined) return;
    this.#last = undefined;
    this.#whenAllAreAcknowledged?.();
    this.#whenAllAreAcknowledged = undefined;
  }
}
