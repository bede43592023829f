/**
 * Distinguishes a message that makes the upstream hang up from an upstream that hangs up anyway.
 *
 * MQTT 3.1.1 cannot say that a message is rejected, and a broker that is full or broken hangs up as well. The suspect is
 * the message that was alone in flight. After enough hang-ups, every second connection holds the suspect back and first
 * sends the messages after it in the queue. Only an upstream that acknowledges one of these, and then hangs up at the
 * suspect again, makes a dead letter of the suspect; an upstream that hangs up at everything never does.
 */
import type { OutgoingPublish } from '../delivery/message.js';

/** More than a restart causes, and no longer than alarms after the message can wait. */
export const HANG_UP_LIMITS = {
  minHangUps: 10,
  minDurationMs: 60_000,
  /** A hang-up later than this after the PUBLISH is not an answer to the message. */
  maxAnswerMs: 5_000,
  /** How long a connection holds messages back while it has no other message to try. */
  maxHoldMs: 1_000,
};

/** Up to this many messages in a row may be at fault, and the one after them is still tried. */
const MAX_HELD = 8;
/** A single hang-up at a message may be chance. */
const MIN_REPORTED = 2;

/** A message that the upstream has not answered. */
export interface Unanswered {
  readonly publish: OutgoingPublish;
  readonly sentAtMs: number;
}

/** One instance serves all connections in turn. */
export class Suspects {
  readonly #onSuspect: (publish: OutgoingPublish | undefined) => void;
  #suspect: OutgoingPublish | undefined;
  #sinceMs = 0;
  #hangUps = 0;
  /** Whether the present connection, or the next one while there is none, holds messages back. */
  #isHolding = false;
  /** How many messages to hold: the suspect, and those tried in its place that also led to a hang-up. */
  #holdCount = 1;
  /** How many messages the next connection sends one by one first, to show which of them ends it. */
  #toTestNext = 0;

  // Of the present connection:
  #answers = 0;
  #toTest = 0;
  #toHold = 0;
  /** Send what is held back, in the order of the queue. */
  #held: (() => void)[] = [];
  #holdTimer: NodeJS.Timeout | undefined;

  /** @param onSuspect called at the second hang-up at a message, and with undefined when that is over */
  constructor(onSuspect: (publish: OutgoingPublish | undefined) => void) {
    this.#onSuspect = onSuspect;
  }

  get isHolding(): boolean {
    return this.#isHolding;
  }

  /** Whether each message waits for the answer to the one before. */
  get isOneByOne(): boolean {
    const isSuspecting = this.#suspect !== undefined || this.#held.length > 0;
    return isSuspecting || this.#answers < this.#toTest;
  }

  /** Notes that the upstream has accepted a connection. */
  connected(): void {
    this.#answers = 0;
    this.#toTest = this.#toTestNext;
    this.#toTestNext = 0;
    this.#toHold = this.#isHolding ? this.#holdCount : 0;
  }

  /**
   * Whether a message is held back: the suspect and those right after it, as those before are tried anyway.
   *
   * @param send called when another has been answered, or there is none to try
   * @param isIdle whether no message is unanswered
   */
  holds(publish: OutgoingPublish, send: () => void, isIdle: () => boolean): boolean {
    const isNext = this.#held.length > 0 || this.#isSuspect(publish);
    if (this.#toHold === 0 || !isNext) return false;
    this.#toHold--;
    this.#held.push(send);
    this.#holdTimer ??= setTimeout(() => {
      if (isIdle()) this.#sendHeld();
    }, HANG_UP_LIMITS.maxHoldMs);
    return true;
  }

  /** Notes an answer, whatever it says, and sends what is held, before later messages go. */
  answered(): void {
    this.#answers++;
    this.#sendHeld();
  }

  /** Notes that a message was acknowledged, or is a dead letter. */
  settled(publish: OutgoingPublish): void {
    if (this.#isSuspect(publish)) this.clear();
  }

  /** Notes that the upstream has refused a message for now. Returns whether it is a dead letter. */
  refused(publish: OutgoingPublish): boolean {
    return this.#endedAt(publish, this.#answers > 1);
  }

  /**
   * Notes that the upstream has ended the connection.
   *
   * @param isAboutMessage whether it said so (MQTT 5, 3.14.2.1): then the message that was sent alone is at fault
   * @returns whether what is in flight is a dead letter
   */
  hungUp(inFlight: readonly Unanswered[], isAboutMessage: boolean): boolean {
    const [first] = inFlight;
    if (first === undefined) return false;
    const hasAnswered = this.#answers > 0;
    const { isOneByOne } = this;
    if (isAboutMessage || isOneByOne || !hasAnswered) this.#toTestNext = inFlight.length;
    if (isAboutMessage) return isOneByOne;
    const answerMs = performance.now() - first.sentAtMs;
    if (inFlight.length > 1 || answerMs > HANG_UP_LIMITS.maxAnswerMs) return false;
    return this.#endedAt(first.publish, hasAnswered);
  }

  /**
   * Decides after an attempt to connect whether the next connection holds messages back.
   *
   * @param wasAccepted if not, the next one sends in the queue's order, as there is no reason to change it
   */
  ended(wasAccepted: boolean): void {
    clearTimeout(this.#holdTimer);
    this.#holdTimer = undefined;
    this.#held = [];
    this.#isHolding = wasAccepted && this.#hasEnough && !this.#isHolding;
  }

  clear(): void {
    const wasReported = this.#hangUps >= MIN_REPORTED;
    this.#suspect = undefined;
    this.#hangUps = 0;
    this.#isHolding = false;
    this.#holdCount = 1;
    if (wasReported) this.#onSuspect(undefined);
  }

  /** Notes that a connection ended at this message, alone. Returns whether it is a dead letter. */
  #endedAt(publish: OutgoingPublish, hasAnsweredOthers: boolean): boolean {
    if (!this.#isSuspect(publish)) {
      // A message tried in the suspect's place may be at fault as well: it is then held back, too.
      if (this.#isHolding) this.#holdCount = 1 + (this.#holdCount % MAX_HELD);
      else this.#suspectAnew(publish);
      return false;
    }
    const isProven = hasAnsweredOthers && this.#hasEnough;
    this.#hangUps++;
    if (this.#hangUps === MIN_REPORTED) this.#onSuspect(publish);
    // There was nothing to try after the held messages.
    if (this.#isHolding) this.#holdCount = 1;
    return isProven;
  }

  #suspectAnew(publish: OutgoingPublish): void {
    this.clear();
    this.#suspect = publish;
    this.#sinceMs = performance.now();
    this.#hangUps = 1;
  }

  /** Messages keep their packet identifier when resent [MQTT-4.4.0-1]. */
  #isSuspect({ messageId, topic }: OutgoingPublish): boolean {
    return this.#suspect?.messageId === messageId && this.#suspect.topic === topic;
  }

  get #hasEnough(): boolean {
    const { minHangUps, minDurationMs } = HANG_UP_LIMITS;
    return this.#hangUps >= minHangUps && performance.now() - this.#sinceMs >= minDurationMs;
  }

  #sendHeld(): void {
    this.#toHold = 0;
    this.#held.shift()?.();
  }
}
