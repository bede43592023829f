import type { OutgoingPublish } from '../delivery/message.js';

/** When a message counts as the reason why the upstream hangs up. */
export interface HangUpLimits {
  readonly minHangUps: number;
  readonly minDurationMs: number;
  /** A hang-up later than this after the PUBLISH is not an answer to the message. */
  readonly maxAnswerMs: number;
  /** How long a connection holds messages back while it has no other message to try. */
  readonly maxHoldMs: number;
}

/** More than a restart causes, and no longer than alarms after the message can wait. */
export const HANG_UP_LIMITS: HangUpLimits = {
  minHangUps: 10,
  minDurationMs: 60_000,
  maxAnswerMs: 5_000,
  maxHoldMs: 1_000,
};

/** Up to this many messages in a row may be at fault, and the one after them is still tried. */
const MAX_HELD = 8;

/** A single hang-up at a message may be chance. */
const MIN_REPORTED = 2;

interface Suspect {
  readonly publish: OutgoingPublish;
  hangUps: number;
  readonly sinceMs: number;
}

/**
 * Distinguishes a message that makes the upstream hang up from an upstream that hangs up anyway.
 *
 * MQTT 3.1.1 cannot say that a message is rejected, and a broker that is full or broken hangs up as
 * well. The suspect is the message that was alone in flight. After enough hang-ups,
 * every second connection holds the suspect back and first sends the messages after it in the
 * queue. Only an upstream that acknowledges one of these, and then hangs up at the suspect again,
 * makes a dead letter of the suspect; an upstream that hangs up at everything never does.
 */
export class HangUps {
  readonly limits: HangUpLimits;
  readonly #onSuspect: (publish: OutgoingPublish | undefined) => void;
  #suspect: Suspect | undefined;
  /** Whether the present connection, or the next one while there is none, holds messages back. */
  #isHolding = false;
  /**
   * How many messages to hold: the suspect, and those tried in its place that also led to a hang-up.
   */
  #holdCount = 1;
  #toTest = 0;

  /** @param onSuspect called at the second hang-up at a message, and when that is over */
  constructor(limits: HangUpLimits, onSuspect: (publish: OutgoingPublish | undefined) => void) {
    this.limits = limits;
    this.#onSuspect = onSuspect;
  }

  get isSuspecting(): boolean {
    return this.#suspect !== undefined;
  }

  /** How many messages the next connection holds back, the suspect first. */
  get held(): number {
    return this.#isHolding ? this.#holdCount : 0;
  }

  /** Notes how many messages in flight may have ended the connection. */
  test(messages: number): void {
    this.#toTest = messages;
  }

  /** How many messages a new connection sends one by one, to show which of them ends it. */
  takeToTest(): number {
    const messages = this.#toTest;
    this.#toTest = 0;
    return messages;
  }

  /** Messages keep their packet identifier when resent [MQTT-4.4.0-1]. */
  isSuspect({ messageId, topic }: OutgoingPublish): boolean {
    const suspect = this.#suspect?.publish;
    return suspect?.messageId === messageId && suspect.topic === topic;
  }

  /** Notes the upstream's answer to a message: an acknowledgement or a reason code. */
  answered(publish: OutgoingPublish): void {
    if (this.isSuspect(publish)) this.clear();
  }

  /**
   * Notes a hang-up soon after this message was sent, alone. Returns whether it is a dead letter.
   */
  hungUpAt(publish: OutgoingPublish, hasAnsweredOthers: boolean): boolean {
    const suspect = this.#suspect;
    if (suspect === undefined || !this.isSuspect(publish)) {
      // A message tried in the suspect's place may be at fault as well: it is then held back, too.
      if (this.#isHolding) this.#holdCount = 1 + (this.#holdCount % MAX_HELD);
      else this.#suspectAnew(publish);
      return false;
    }
    const isProven = hasAnsweredOthers && this.#hasEnough();
    suspect.hangUps++;
    if (suspect.hangUps === MIN_REPORTED) this.#onSuspect(publish);
    // There was nothing to try after the held messages.
    if (this.#isHolding) this.#holdCount = 1;
    return isProven;
  }

  /** Decides after the end of a connection whether the next one holds messages back. */
  nextConnection(): void {
    this.#isHolding = this.#hasEnough() && !this.#isHolding;
  }

  /**
   * Notes a failure to connect to the upstream.
   *
   * The next connection sends in the queue's order: holding back would change that order for no
   * reason.
   */
  notConnected(): void {
    this.#isHolding = false;
  }

  clear(): void {
    this.#isHolding = false;
    this.#holdCount = 1;
    const wasReported = this.#suspect !== undefined && this.#suspect.hangUps >= MIN_REPORTED;
    this.#suspect = undefined;
    if (wasReported) this.#onSuspect(undefined);
  }

  #suspectAnew(publish: OutgoingPublish): void {
    this.clear();
    this.#suspect = { publish, hangUps: 1, sinceMs: performance.now() };
  }

  #hasEnough(): boolean {
    if (this.#suspect === undefined) return false;
    const { minHangUps, minDurationMs } = this.limits;
    const { hangUps, sinceMs } = this.#suspect;
    return hangUps >= minHangUps && performance.now() - sinceMs >= minDurationMs;
  }
}
