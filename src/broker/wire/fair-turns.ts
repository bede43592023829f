/** Whose turns a connection takes part in. */
export interface TurnPlace {
  /** The location, or what stands for one. */
  readonly location: string;
  /** The principal, or the address of a client that is not authenticated. */
  readonly principal: string;
}

/** A client's connection, which is read in turns. */
export interface TurnTaker {
  readonly place: TurnPlace;
  /** Whether the client is a subscriber, whose acknowledgements make room for messages. */
  readonly isSubscriber: boolean;
  /** Whether all that it sent in its last turn were alarms. */
  readonly bringsAlarms: boolean;
  /** Reads a bounded piece. Returns how many messages were in it. */
  takeTurn(nowMs: number): number;
  /** Whether there is more to read, and it may be read. */
  readonly wantsTurn: boolean;
}

/** Processor time of one turn. One that takes longer is made up for by turns that are missed. */
const QUANTUM_MS = 0.25;
/** Caps the debt of a connection whose turn fell into a pause of the process. */
const MAX_DEBT_MS = 5;
/** Alarms come before values: a connection that brings nothing else gets more turns. */
const ALARM_WEIGHT = 4;

/**
 * Gives connections turns by location, then principal, then connection.
 *
 * Further connections of a principal bring no more turns, nor do further devices of a location.
 */
export class FairTurns {
  readonly #root = new Branch(undefined, '');
  readonly #seats = new Map<TurnTaker, Seat>();
  readonly #elapsed: () => number;
  #waiting = 0;

  /** @param elapsed a clock that does not jump */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** How many connections want a turn. */
  get waiting(): number {
    return this.#waiting;
  }

  want(taker: TurnTaker): void {
    const seat = this.#seats.get(taker) ?? this.#sit(taker);
    if (!seat.parent.add(seat)) return;
    this.#waiting++;
    for (let branch = seat.parent; branch.parent?.add(branch) === true; ) branch = branch.parent;
  }

  /** Removes a connection that is gone, or whose place is another now. */
  leave(taker: TurnTaker): void {
    const seat = this.#seats.get(taker);
    if (seat === undefined) return;
    this.#seats.delete(taker);
    if (seat.isReady) this.#waiting--;
    seat.parent.remove(seat);
    for (let branch = seat.parent; branch.parent !== undefined; branch = branch.parent) {
      branch.seats--;
      if (branch.seats === 0) branch.parent.removeBranch(branch);
      else if (!branch.hasReady) branch.parent.unready(branch);
    }
  }

  /** Gives the next turn. Returns the messages read, or undefined when no connection is waiting. */
  next(): number | undefined {
    let member: Member | undefined = this.#root;
    while (member instanceof Branch) member = member.next();
    if (!(member instanceof Seat)) return undefined;
    const { taker } = member;
    const startMs = this.#elapsed();
    const messages = taker.takeTurn(startMs);
    const tookMs = Math.max(QUANTUM_MS, this.#elapsed() - startMs);
    const costMs = taker.bringsAlarms ? tookMs / ALARM_WEIGHT : tookMs;
    if (member.isReady && !taker.wantsTurn) {
      member.parent.unready(member);
      this.#waiting--;
    }
    member.parent.charge(member, costMs);
    for (let branch = member.parent; branch.parent !== undefined; branch = branch.parent) {
      if (!branch.hasReady) branch.parent.unready(branch);
      branch.parent.charge(branch, costMs);
    }
    return messages;
  }

  #sit(taker: TurnTaker): Seat {
    const { location, principal } = taker.place;
    const branch = this.#root.branch(location).branch(principal);
    const seat = new Seat(branch, taker);
    this.#seats.set(taker, seat);
    for (let one = branch; one.parent !== undefined; one = one.parent) one.seats++;
    return seat;
  }
}

/** A member of the tree that takes turns: a branch or a connection. */
abstract class Member {
  readonly parent: Branch | undefined;
  isReady = false;
  creditMs = 0;
  line: Line | undefined;
  before: Member | undefined;
  after: Member | undefined;

  constructor(parent: Branch | undefined) {
    this.parent = parent;
  }
}

/** Members one behind the other. */
class Line {
  first: Member | undefined;
  #last: Member | undefined;

  push(member: Member): void {
    member.line = this;
    member.before = this.#last;
    if (this.#last === undefined) this.first = member;
    else this.#last.after = member;
    this.#last = member;
  }

  remove(member: Member): void {
    const { before, after } = member;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    member.line = undefined;
    member.before = undefined;
    member.after = undefined;
  }
}

/** A connection's place among those of its principal. */
class Seat extends Member {
  override readonly parent: Branch;
  readonly taker: TurnTaker;

  constructor(parent: Branch, taker: TurnTaker) {
    super(parent);
    this.parent = parent;
    this.taker = taker;
  }
}

/**
 * Schedules the turns of the whole, a location or a principal.
 *
 * Deficit round robin with newcomers first (RFC 8290, 4.2): a member that has just begun to send goes before
 * members that send all the time, so an alarm passes a flood.
 */
class Branch extends Member {
  readonly #key: string;
  /** Undefined for a principal, which has seats only. */
  #branches: Map<string, Branch> | undefined;
  readonly #newcomers = new Line();
  /** A member that wants nothing more stays until its next turn: before that it is no newcomer. */
  readonly #others = new Line();
  #ready = 0;
  /** How many connections are below it. */
  seats = 0;

  constructor(parent: Branch | undefined, key: string) {
    super(parent);
    this.#key = key;
  }

  get hasReady(): boolean {
    return this.#ready > 0;
  }

  branch(key: string): Branch {
    this.#branches ??= new Map();
    const branch = this.#branches.get(key) ?? new Branch(this, key);
    this.#branches.set(key, branch);
    return branch;
  }

  removeBranch(branch: Branch): void {
    this.#branches?.delete(branch.#key);
    this.remove(branch);
  }

  /** Adds a member that wants a turn. Returns whether it did not before. */
  add(member: Member): boolean {
    if (member.isReady) return false;
    member.isReady = true;
    this.#ready++;
    if (member.line !== undefined) return true;
    member.creditMs = QUANTUM_MS;
    this.#newcomers.push(member);
    return true;
  }

  /** Notes that a member wants no more turns. */
  unready(member: Member): void {
    if (!member.isReady) return;
    member.isReady = false;
    this.#ready--;
  }

  remove(member: Member): void {
    this.unready(member);
    member.line?.remove(member);
  }

  /** The member whose turn it is. */
  next(): Member | undefined {
    if (this.#ready === 0) return undefined;
    for (;;) {
      const member = this.#newcomers.first ?? this.#others.first;
      if (member === undefined) return undefined;
      if (member.isReady && member.creditMs > 0) return member;
      member.line?.remove(member);
      if (member.creditMs > 0) continue;
      member.creditMs += QUANTUM_MS;
      this.#others.push(member);
    }
  }

  /** Charges a member for its turn; without credit it goes to the end of the line. */
  charge(member: Member, costMs: number): void {
    member.creditMs = Math.max(member.creditMs - costMs, -MAX_DEBT_MS);
    if (this.#ready === 0) {
      // No member is waiting, so debts and credits are void.
      for (const line of [this.#newcomers, this.#others]) {
        while (line.first !== undefined) line.remove(line.first);
      }
    } else if (member.line === this.#newcomers || member.creditMs <= 0) {
      // Renewed here: at its next place in the line it would wait once more, and debts be paid off twice as fast.
      if (member.creditMs <= 0) member.creditMs += QUANTUM_MS;
      member.line?.remove(member);
      this.#others.push(member);
    }
  }
}
