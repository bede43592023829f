import { FilterTree } from '../domain/filter-tree.js';
import type { Audience } from '../domain/grants.js';
import { Tally } from './backlog/tally.js';
import type { Cursor } from './cursors/cursor.js';
import type { DirectMessage } from './direct-queue.js';
import { type ConsumerLimits, spacingFor } from './limits.js';
import { LOG_NAMES, type LogEntry, type LogName } from './log/log-entry.js';
import type { QoS } from './sessions/subscriptions.js';

/** A selection that a filter or a topic leads to; for a topic at the highest QoS of its filters. */
export interface Route {
  readonly selection: Selection;
  readonly qos: QoS;
}

/** Topics whose routes are remembered; devices times kinds, in an ordinary home a few hundred. */
const MAX_REMEMBERED_TOPICS = 20_000;

/** Finds the selections whose filters match a topic. */
export class Routes {
  readonly #selections = new Map<string, { selection: Selection; branches: readonly Route[] }>();
  readonly #tree = new FilterTree<Route>();
  readonly #remembered = new Map<string, readonly Route[]>();
  /** Changes of selections to make before the next match. */
  readonly #pending = new Set<() => void>();
  #joinCount = 0;

  /** Rises whenever a connected subscriber may match what it did not match before. */
  get joinCount(): number {
    this.applyChanges();
    return this.#joinCount;
  }

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
    if (member.isConnected) this.connect(selection, member);
    return selection;
  }

  /** Notes that a member of the selection is connected. */
  connect(selection: Selection, member: Member): void {
    selection.connected.add(member);
    this.#joinCount++;
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
    this.applyChanges();
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

  /** Cancels a change that was put off. */
  cancel(change: () => void): void {
    this.#pending.delete(change);
  }

  /** Makes the changes that were put off. */
  applyChanges(): void {
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

/** Filters, permissions and limits: the consumers that share them form a selection. */
export interface SelectionRule {
  /** Equal for principals whose `mayReceive` answers alike. */
  readonly audienceKey: string;
  readonly mayReceive: (audience: Audience) => boolean;
  readonly filters: readonly { readonly filter: string; readonly qos: QoS }[];
  readonly limits: ConsumerLimits;
}

type MemberCursor = Pick<Cursor, 'needs' | 'recount'> & {
  readonly position: Pick<Cursor['position'], 'offset'>;
};

/** A consumer, as far as its selection deals with it. */
export interface Member {
  readonly isConnected: boolean;
  readonly cursors: Readonly<Record<LogName, MemberCursor>>;
  /** Offers a QoS 1 entry that concerns the member, at the end of its log. */
  offer(entry: LogEntry): void;
  /** Offers an entry at QoS 0. */
  offerAtQos0(entry: LogEntry): void;
  /** Sends a message at QoS 0, if the connection takes it now. */
  offerCopy(message: DirectMessage): boolean;
  /** Offers a message beside the logs, at the QoS of the member's filters. */
  offerDirect(message: DirectMessage, qos: QoS): void;
  /** Drops messages beyond the bounds, after a mark was set. */
  checkBounds(): void;
}

/**
 * A group of consumers with the same filters, permissions and limits.
 *
 * An entry is matched and counted once for all of them, so that a thousand absent sessions cost an
 * alarm no more than one (CONTRACT 4.5).
 */
export class Selection {
  readonly key: string;
  readonly rule: SelectionRule;
  readonly tallies: Readonly<Record<LogName, Tally>>;
  readonly members = new Set<Member>();
  /** The members that have a connection. */
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

  /** Forgets marks that all members have passed. */
  forgetOldMarks(): void {
    for (const log of LOG_NAMES) {
      let oldest = Number.POSITIVE_INFINITY;
      for (const member of this.members)
        oldest = Math.min(oldest, member.cursors[log].position.offset);
      this.tallies[log].forgetBefore(oldest);
    }
  }
}

/** Equal for rules that select alike. */
function selectionKey({ audienceKey, filters, limits }: SelectionRule): string {
  const sorted = filters.map(({ filter, qos }) => `${qos}${filter}`).sort();
  return JSON.stringify([audienceKey, limits, ...sorted]);
}
