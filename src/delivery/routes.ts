import { FilterTree } from '../domain/filter-tree.js';
import type { Audience } from '../domain/grants.js';
import type { DirectMessage } from './direct-queue.js';
import { type ConsumerLimits, spacingFor } from './limits.js';
import { LOG_NAMES, type LogEntry, type LogName } from './log-entry.js';
import type { QoS } from './subscriptions.js';
import { Tally } from './tally.js';

/** A selection that a topic concerns, at the highest QoS of its matching filters. */
export interface Route {
  readonly selection: Selection;
  readonly qos: QoS;
}

interface Branch {
  readonly selection: Selection;
  readonly qos: QoS;
}

/** Topics whose routes are remembered; devices times kinds, in an ordinary home a few hundred. */
const MAX_REMEMBERED_TOPICS = 20_000;

/** Finds the selections whose filters match a topic. */
export class Routes {
  readonly #selections = new Map<string, { selection: Selection; branches: readonly Branch[] }>();
  readonly #tree = new FilterTree<Branch>();
  readonly #remembered = new Map<string, readonly Route[]>();
  /** Changes of selections that nothing has been matched against yet. */
  readonly #pending = new Set<() => void>();

  /**
   * Makes a change of selections before the next match: a client that subscribes a thousand times in a
   * row changes its selection once.
   */
  changeLater(change: () => void): void {
    this.#pending.add(change);
  }

  /** The selections with at least one member. */
  *selections(): IterableIterator<Selection> {
    for (const { selection } of this.#selections.values()) yield selection;
  }

  /** Adds a member to the selection with this rule. */
  join(rule: SelectionRule, member: Member): Selection {
    const key = selectionKey(rule);
    const selection = this.#selections.get(key)?.selection ?? this.#add(key, rule);
    selection.members.add(member);
    if (member.isConnected) selection.connected.add(member);
    return selection;
  }

  leave(selection: Selection, member: Member): void {
    selection.members.delete(member);
    selection.connected.delete(member);
    if (selection.members.size > 0) return;
    const branches = this.#selections.get(selection.key)?.branches ?? [];
    this.#selections.delete(selection.key);
    for (const [index, { filter }] of selection.rule.filters.entries()) {
      const branch = branches[index];
      if (branch !== undefined) this.#tree.remove(filter, branch);
    }
    this.#remembered.clear();
  }

  match(topic: string): readonly Route[] {
    this.settle();
    const known = this.#remembered.get(topic);
    if (known !== undefined) return known;
    const qosBySelection = new Map<Selection, QoS>();
    for (const { selection, qos } of this.#tree.match(topic)) {
      const before = qosBySelection.get(selection);
      if (before === undefined || before < qos) qosBySelection.set(selection, qos);
    }
    const routes = Array.from(qosBySelection, ([selection, qos]) => ({ selection, qos }));
    if (this.#remembered.size >= MAX_REMEMBERED_TOPICS) this.#remembered.clear();
    this.#remembered.set(topic, routes);
    return routes;
  }

  /** A change that was put off is not to be made any more. */
  cancel(change: () => void): void {
    this.#pending.delete(change);
  }

  /** Makes the changes that were put off. */
  settle(): void {
    if (this.#pending.size === 0) return;
    for (const change of this.#pending) change();
    this.#pending.clear();
  }

  #add(key: string, rule: SelectionRule): Selection {
    const selection = new Selection(key, rule);
    const branches = rule.filters.map(({ qos }) => ({ selection, qos }));
    for (const [index, { filter }] of rule.filters.entries()) {
      const branch = branches[index];
      if (branch !== undefined) this.#tree.add(filter, branch);
    }
    this.#selections.set(key, { selection, branches });
    this.#remembered.clear();
    return selection;
  }
}

/** What decides which messages a consumer receives, and how many of them may wait. */
export interface SelectionRule {
  /** The same for all principals whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  readonly mayReceive: (audience: Audience) => boolean;
  readonly filters: readonly { readonly filter: string; readonly qos: QoS }[];
  readonly limits: ConsumerLimits;
}

/** A consumer, as far as its selection deals with it. */
export interface Member {
  readonly isConnected: boolean;
  readonly cursors: Readonly<Record<LogName, { readonly offset: number }>>;
  /** A QoS 1 entry that concerns the member stands at the end of its log. */
  offer(entry: LogEntry): void;
  /** The same at QoS 0. */
  offerAtQos0(entry: LogEntry): void;
  /** A message beside the logs, at the QoS of the member's filters. */
  offerDirect(message: DirectMessage, qos: QoS): void;
  /** Whether the entry may still have to be sent to the member. */
  needs(entry: LogEntry): boolean;
  /** At start: an entry in the log that may not have been counted concerns the member. */
  recount(entry: LogEntry): void;
  /** A mark was set: drops what exceeds the bounds of a backlog. */
  checkBounds(): void;
}

/**
 * What a group of consumers selects alike: the same filters, the same permissions.
 *
 * An entry is matched and counted once for all of them, so that a thousand absent sessions cost an
 * alarm no more than one (CONTRACT 4.5).
 */
export class Selection {
  readonly key: string;
  readonly rule: SelectionRule;
  readonly tallies: Readonly<Record<LogName, Tally>>;
  readonly members = new Set<Member>();
  /** Those members that have a connection. */
  readonly connected = new Set<Member>();

  constructor(key: string, rule: SelectionRule) {
    this.key = key;
    this.rule = rule;
    const spacing = spacingFor(rule.limits);
    this.tallies = { alarms: new Tally(spacing), messages: new Tally(spacing) };
  }

  /** Counts an entry at the end of its log, and offers it to the connected members. */
  accept(entry: LogEntry, qos: QoS): void {
    if (!this.rule.mayReceive(entry)) return;
    if (qos === 0) {
      for (const member of this.connected) member.offerAtQos0(entry);
      return;
    }
    const isMarked = this.tallies[entry.log].add(entry);
    for (const member of this.connected) member.offer(entry);
    if (isMarked) for (const member of this.members) member.checkBounds();
  }

  /** Forgets the marks that no member will jump to: all members have passed them. */
  forgetOldMarks(): void {
    for (const log of LOG_NAMES) {
      let oldest = Number.POSITIVE_INFINITY;
      for (const member of this.members) oldest = Math.min(oldest, member.cursors[log].offset);
      this.tallies[log].forgetBefore(oldest);
    }
  }
}

/** The same for rules that select the same. */
function selectionKey({ audienceKey, filters, limits }: SelectionRule): string {
  const sorted = filters.map(({ filter, qos }) => `${qos}${filter}`).sort();
  return JSON.stringify([audienceKey, limits, ...sorted]);
}
