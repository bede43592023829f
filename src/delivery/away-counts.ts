import { FilterTree } from '../domain/filter-tree.js';
import type { Audience } from '../domain/grants.js';
import type { LogEntry, LogName } from './log-entry.js';
import type { LogPositions, QoS } from './subscriptions.js';
import { Subscriptions } from './subscriptions.js';

/** Who is away, as far as it decides what he is owed. */
export interface AwayMember {
  /** The same for all whose `mayReceive` answers the same. */
  readonly audienceKey: string;
  readonly mayReceive: (audience: Audience) => boolean;
  readonly filters: readonly { readonly filter: string; readonly qos: QoS }[];
}

interface Group {
  readonly key: string;
  readonly member: AwayMember;
  readonly subscriptions: Subscriptions;
  readonly counts: Record<LogName, number>;
  members: number;
}

/** What one member's group had been owed when the member last looked. */
export interface AwayCount {
  /** How many more it is owed since, all of them behind `after`. */
  take(log: LogName): { readonly count: number; readonly after: number };
  /** The log ends here now. */
  wentBack(log: LogName, last: number): void;
  leave(): void;
}

const BEFORE_EVERYTHING: LogPositions = { alarms: 0, messages: 0 };

/**
 * Counts what those who are away are owed: once for all who have the same filters and may see the
 * same, so that a thousand abandoned sessions cost an alarm no more than one (CONTRACT 4.5).
 */
export class AwayCounts {
  readonly #groups = new Map<string, Group>();
  readonly #filters = new FilterTree<Group>();

  /** @param newest the newest entries, up to which the member has been counted itself */
  join(member: AwayMember, newest: () => LogPositions): AwayCount {
    const group = this.#group(member);
    group.members++;
    const counted = { ...group.counts };
    const after = { ...newest() };
    return {
      take: (log) => {
        const taken = { count: group.counts[log] - counted[log], after: after[log] };
        counted[log] = group.counts[log];
        after[log] = newest()[log];
        return taken;
      },
      wentBack: (log, last) => {
        after[log] = Math.min(after[log], last);
      },
      leave: () => this.#left(group),
    };
  }

  /** The entry stands at the end of its log. */
  appended(entry: LogEntry): void {
    for (const { member, subscriptions, counts } of this.#filters.match(entry.topic)) {
      const isOwed = subscriptions.qosFor(entry.topic) === 1 && member.mayReceive(entry);
      if (isOwed) counts[entry.log]++;
    }
  }

  #group(member: AwayMember): Group {
    const filters = member.filters.map(({ filter, qos }) => `${qos}${filter}`).sort();
    const key = JSON.stringify([member.audienceKey, ...filters]);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const subscriptions = new Subscriptions(
      member.filters.map(({ filter, qos }) => ({ filter, qos, after: BEFORE_EVERYTHING })),
    );
    const group = { key, member, subscriptions, counts: { alarms: 0, messages: 0 }, members: 0 };
    this.#groups.set(key, group);
    for (const { filter } of member.filters) this.#filters.add(filter, group);
    return group;
  }

  #left(group: Group): void {
    group.members--;
    if (group.members > 0) return;
    this.#groups.delete(group.key);
    for (const { filter } of group.member.filters) this.#filters.remove(filter, group);
  }
}
