import { bytesOfMessage } from './log-entry.js';
import type { AlarmLogItem, NewMessage } from './log-item.js';

/** A larger batch would hold up the store and all its users for too long. */
const MAX_BATCH_ITEMS = 250;
const MAX_BATCH_BYTES = 1024 * 1024;

/**
 * Items that wait to be stored, in the order in which the store gets them.
 *
 * The first alarm of a device goes ahead of devices with more alarms waiting, and so passes a flood (as in
 * `FairTurns`). The alarms of one device stay in order, and so do all other messages.
 */
export class WaitingItems<Waiting extends { readonly item: NewMessage }> {
  /** Items whose device had none waiting. */
  #firsts: Waiting[] = [];
  #others: Waiting[] = [];
  /** How many items of each device wait. */
  readonly #counts = new Map<string, number>();

  get size(): number {
    return this.#firsts.length + this.#others.length;
  }

  add(waiting: Waiting): void {
    const source = sourceOf(waiting.item);
    const count = source === undefined ? 1 : (this.#counts.get(source) ?? 0);
    if (source !== undefined) this.#counts.set(source, count + 1);
    (count === 0 ? this.#firsts : this.#others).push(waiting);
  }

  /** Adds an item after all others. */
  addBehind(waiting: Waiting): void {
    const source = sourceOf(waiting.item);
    if (source !== undefined) this.#counts.set(source, (this.#counts.get(source) ?? 0) + 1);
    this.#others.push(waiting);
  }

  /** Removes and returns the items of the next batch. */
  takeBatch(): Waiting[] {
    const batch = takeUpTo(this.#firsts, MAX_BATCH_ITEMS, MAX_BATCH_BYTES);
    if (this.#firsts.length === 0 && !batch.some(isAlone)) {
      const leftBytes = MAX_BATCH_BYTES - bytesOf(batch);
      const isApart = ([next]: Waiting[]) =>
        next !== undefined && (isAlone(next) || isOfEvents(next));
      const hasRoom = batch.length === 0 || !isApart(this.#others);
      const maxItems = hasRoom ? MAX_BATCH_ITEMS - batch.length : 0;
      for (const one of takeUpTo(this.#others, maxItems, leftBytes)) batch.push(one);
    }
    if (this.size === 0) this.#counts.clear();
    else for (const { item } of batch) this.#left(item);
    return batch;
  }

  /** Removes and returns all items. */
  takeAll(): Waiting[] {
    this.#counts.clear();
    return [...this.#firsts.splice(0), ...this.#others.splice(0)];
  }

  *[Symbol.iterator](): Generator<Waiting> {
    yield* this.#firsts;
    yield* this.#others;
  }

  #left(item: NewMessage): void {
    const source = sourceOf(item);
    if (source === undefined) return;
    const count = this.#counts.get(source) ?? 0;
    if (count > 1) this.#counts.set(source, count - 1);
    else this.#counts.delete(source);
  }
}

/** Removes items from the front: at least one, if there is room for any. */
function takeUpTo<Waiting extends { readonly item: NewMessage }>(
  from: Waiting[],
  maxItems: number,
  maxBytes: number,
): Waiting[] {
  let bytes = 0;
  let isAfterAlone = false;
  const subjects = new Set<string>();
  const end = from.findIndex((waiting, index) => {
    bytes += bytesOfMessage(waiting.item);
    const isOther = index > 0 && isOfEvents(waiting) !== isOfEvents(from[0]);
    const subject = eventSubject(waiting.item);
    const isRepeated = subject !== undefined && subjects.has(subject);
    if (subject !== undefined) subjects.add(subject);
    const isApart = isAfterAlone || isAlone(waiting) || isOther || isRepeated;
    const mustWait = index > 0 && (bytes > maxBytes || isApart);
    isAfterAlone = isAlone(waiting);
    return index >= maxItems || mustWait;
  });
  return from.splice(0, end < 0 ? from.length : end);
}

/** A state change is a write of its own. */
function isAlone({ item }: { readonly item: NewMessage | AlarmLogItem }): boolean {
  return 'stateChange' in item;
}

/** Events of the gateway itself share a write, but only with each other. */
function isOfEvents(waiting: { readonly item: NewMessage | AlarmLogItem } | undefined): boolean {
  return waiting !== undefined && 'event' in waiting.item;
}

/** The subject of an event. To recognise a repeated batch, the store remembers only the last event of each subject. */
function eventSubject(item: NewMessage | AlarmLogItem): string | undefined {
  if (!('event' in item)) return undefined;
  const { subject } = item.event;
  return subject.type === 'supervision' ? subject.deviceId : subject.member;
}

function bytesOf(batch: readonly { readonly item: NewMessage }[]): number {
  return batch.reduce((bytes, { item }) => bytes + bytesOfMessage(item), 0);
}

/** What a broken key in the store holds back: a device's alarms, or the messages of a topic. */
export function subjectOf(item: NewMessage | AlarmLogItem): string {
  return sourceOf(item) ?? item.topic;
}

/** The device of an alarm or of its state change. Events of the gateway itself have none and let these go first. */
function sourceOf(item: NewMessage | AlarmLogItem): string | undefined {
  if ('alarm' in item) return item.context.device.id;
  return 'stateChange' in item ? item.stateChange.deviceId : undefined;
}

/** Adds an item to those held back for its subject: items the store has lost go before items it never had. */
export function addInOrder<Held extends { readonly isRestored: boolean }>(
  heldBack: Held[],
  item: Held,
): void {
  const newer = item.isRestored ? heldBack.findIndex(({ isRestored }) => !isRestored) : -1;
  heldBack.splice(newer < 0 ? heldBack.length : newer, 0, item);
}
