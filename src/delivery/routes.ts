import { FilterTree } from '../domain/filter-tree.js';
import { type Member, Selection, type SelectionRule, selectionKey } from './selection.js';
import type { QoS } from './subscriptions.js';

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
