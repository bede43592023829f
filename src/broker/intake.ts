const MIB = 1024 * 1024;

/**
 * What one client may have on its way to a store that gets on, before it is read no further: some
 * hundred publishes. All who come after it wait for them.
 */
const HOLD_BACK_BYTES = 800 * 1024;
/** What is kept of one client while the store is silent: some 1,500 publishes. */
const MAX_OWN_BYTES = 12 * MIB;
/** The same of all clients together. */
const MAX_TOTAL_BYTES = 64 * MIB;
/** What every client may have though all together have too much: nobody fills up another's room. */
const RESERVED_BYTES = 32 * 1024;

/** How many times that much is kept of what came in one read and of connections, and of alarms. */
const OF_ONE_READ = 2;
const OF_CONNECTIONS = 2;
const OF_ALARMS = 3;

/** What a publish takes beside its payload until it is stored; measured: 7 to 9 KB. */
const BYTES_OF_ANY = 8_192;
/** The payload as it came, the message made of it, and the command to the store; measured: 5.3. */
const COPIES_OF_PAYLOAD = 5;

/**
 * What a connection takes until the store has answered what it is asked for at its begin, and the same
 * at its end; measured: 45 KB for both.
 */
export const BYTES_OF_CONNECTION = 24 * 1024;

/** How much memory a publish takes, about, until it is stored. */
export function memoryOf(payloadBytes: number): number {
  return BYTES_OF_ANY + COPIES_OF_PAYLOAD * payloadBytes;
}

interface Waiting {
  readonly share: IntakeShare;
  readonly proceed: () => void;
}

/** Bounds the memory that publishes and connections take while the store is away or slow. */
export class Intake {
  /** By principal: whoever comes again, or on many connections, gets no more of it. */
  readonly #shares = new Map<string, IntakeShare>();
  #unstoredBytes = 0;
  readonly #waiting = new Set<Waiting>();
  #storedBytes = 0;
  #unkeptCount = 0;

  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  /** How much has been stored since the start, in the same measure: does the store get on? */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** How many publishes found no room since the start. */
  get unkeptCount(): number {
    return this.#unkeptCount;
  }

  shareOf(owner: string): IntakeShare {
    const share = this.#shares.get(owner) ?? new IntakeShare(this);
    this.#shares.set(owner, share);
    return share;
  }

  taken(bytes: number): void {
    this.#unstoredBytes += bytes;
  }

  stored(bytes: number): void {
    this.#storedBytes += bytes;
  }

  released(bytes: number): void {
    this.#unstoredBytes -= bytes;
    for (const waiting of this.#waiting) {
      if (!waiting.share.hasRoom) continue;
      this.#waiting.delete(waiting);
      waiting.proceed();
    }
  }

  notKept(): void {
    this.#unkeptCount++;
  }

  /** Calls back as soon as the share, which has no room now, has some; unless that is called off. */
  whenThereIsRoom(share: IntakeShare, proceed: () => void): () => void {
    const waiting = { share, proceed };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }

  hasRoom(times: number): boolean {
    return this.#unstoredBytes < times * MAX_TOTAL_BYTES;
  }
}

/** What one principal has on its way to the store. */
export class IntakeShare {
  readonly intake: Intake;
  #bytes = 0;

  constructor(intake: Intake) {
    this.intake = intake;
  }

  /** Whether more may be read from the client, whatever the store does. */
  get hasRoom(): boolean {
    return this.#bytes < HOLD_BACK_BYTES && this.#isWithin(1);
  }

  /**
   * Whether one more publish can be kept that is no alarm.
   *
   * @param isSilent whether the store is; if not, it is kept that was read at once with others
   */
  hasRoomForMessage(isSilent: boolean): boolean {
    return this.#isWithin(isSilent ? 1 : OF_ONE_READ);
  }

  /** Whether one more alarm can be kept: telemetry must not take its room. */
  get hasRoomForAlarm(): boolean {
    return this.#isWithin(OF_ALARMS);
  }

  /** Whether one more connection can be admitted: none must take the room of alarms. */
  get hasRoomForConnection(): boolean {
    return this.#isWithin(OF_CONNECTIONS);
  }

  taken(bytes: number): void {
    this.#bytes += bytes;
    this.intake.taken(bytes);
  }

  /** The store has taken it. */
  stored(bytes: number): void {
    this.intake.stored(bytes);
    this.released(bytes);
  }

  /** It waits no more, whatever became of it. */
  released(bytes: number): void {
    this.#bytes -= bytes;
    this.intake.released(bytes);
  }

  /** Calls back as soon as there is room; the function that it returns calls that off. */
  whenThereIsRoom(proceed: () => void): () => void {
    return this.intake.whenThereIsRoom(this, proceed);
  }

  #isWithin(times: number): boolean {
    if (this.#bytes < times * RESERVED_BYTES) return true;
    return this.#bytes < times * MAX_OWN_BYTES && this.intake.hasRoom(times);
  }
}
