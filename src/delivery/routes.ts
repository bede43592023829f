import { FilterTree } from '../domain/filter-tree.js';
import type { QoS, Subscription } from './sessions/subscriptions.js';

/** A consumer whose filters match, at the highest QoS it has asked for. */
export interface Route<Member> {
  readonly member: Member;
  /** For the messages of others. */
  readonly qos: QoS;
  /** For its own messages, by the filters that are not No Local; undefined: it gets none (MQTT 5, 3.8.3.1). */
  readonly ownQos: QoS | undefined;
}

/** Topics whose routes are remembered: a device has about ten, an ordinary home a few hundred. */
const MAX_REMEMBERED_TOPICS = 20_000;

/** A consumer, as routes need it. */
interface RouteMember {
  /** `sessionKey` of its session. */
  readonly session: string;
  readonly isConnected: boolean;
}

/** Finds the consumers whose filters match a topic. */
export class Routes<Member extends RouteMember> {
  readonly #tree = new FilterTree<Route<Member>>();
  /** By member and filter. */
  readonly #branches = new Map<Member, Map<string, Route<Member>>>();
  readonly #remembered = new Map<string, readonly Route<Member>[]>();
  /** Members whose filters must be read again before the next match. */
  readonly #changed = new Map<Member, () => readonly Subscription[]>();
  #joinCount = 0;

  /** Rises whenever a connected subscriber may match something new. */
  get joinCount(): number {
    return this.#joinCount;
  }

  /**
   * Sets the filters that a member is matched by.
   *
   * They are read before the next match: a thousand subscriptions in a row cause one change.
   */
  set(member: Member, filters: () => readonly Subscription[]): void {
    this.#changed.set(member, filters);
    if (member.isConnected) this.connected();
  }

  /** Notes that a member is connected. */
  connected(): void {
    this.#joinCount++;
  }

  remove(member: Member): void {
    this.#changed.delete(member);
    this.#apply(member, []);
    this.#branches.delete(member);
  }

  match(topic: string): readonly Route<Member>[] {
    for (const [member, filters] of this.#changed) this.#apply(member, filters());
    this.#changed.clear();
    const known = this.#remembered.get(topic);
    if (known !== undefined) return known;
    const found = new Map<Member, Route<Member>>();
    for (const route of this.#tree.match(topic)) {
      const before = found.get(route.member);
      found.set(route.member, before === undefined ? route : broader(before, route));
    }
    const routes = [...found.values()];
    if (this.#remembered.size >= MAX_REMEMBERED_TOPICS) this.#remembered.clear();
    this.#remembered.set(topic, routes);
    return routes;
  }

  /** Replaces the filters of a member. */
  #apply(member: Member, filters: readonly Subscription[]): void {
    const before = this.#branches.get(member) ?? new Map<string, Route<Member>>();
    const after = new Map<string, Route<Member>>();
    for (const { filter, qos, isNoLocal = false } of filters) {
      const known = before.get(filter);
      const ownQos = isNoLocal ? undefined : qos;
      if (known?.qos === qos && known.ownQos === ownQos) after.set(filter, known);
      else {
        const route = { member, qos, ownQos };
        after.set(filter, route);
        this.#tree.add(filter, route);
      }
    }
    for (const [filter, route] of before) {
      if (after.get(filter) !== route) this.#tree.remove(filter, route);
    }
    this.#branches.set(member, after);
    this.#remembered.clear();
  }
}

/** Combines two filters of a member: the higher QoS of each. */
function broader<Member>(one: Route<Member>, other: Route<Member>): Route<Member> {
  const ownQos = higher(one.ownQos, other.ownQos);
  const highest = one.qos < other.qos ? other : one;
  return highest.ownQos === ownQos ? highest : { ...highest, ownQos };
}

function higher(one: QoS | undefined, other: QoS | undefined): QoS | undefined {
  return (one ?? -1) < (other ?? -1) ? other : one;
}

/** The QoS at which a member gets a message; undefined: it is its own, and its filters are No Local. */
export function qosOf(
  { qos, ownQos, member }: Route<Pick<RouteMember, 'session'>>,
  publisher: string | undefined,
): QoS | undefined {
  return publisher !== undefined && publisher === member.session ? ownQos : qos;
}
