import { isDeepStrictEqual } from 'node:util';
import { parseSharedFilter, SHARE_PREFIX } from '../../domain/topics.js';
import type { Consumer } from '../consumer.js';
import type { OutgoingPublish, Receiver } from '../message.js';
import { type ConsumingSession, PERSISTENT, type Session, type SessionOwner } from './session.js';
import type { Sessions } from './sessions.js';
import type { QoS, Subscription } from './subscriptions.js';

/** One shared subscription of a principal. */
interface Group {
  /** `$share/<group>/<filter>` */
  readonly name: string;
  /** The session that holds the messages. */
  readonly queue: ConsumingSession;
  /** In the order in which they joined. */
  readonly members: Map<Consumer, Subscription>;
  /** The member that gets the messages, and its connection. */
  serving: { readonly member: Consumer; readonly receiver: MemberReceiver } | undefined;
}

/** Whether the session is a group's queue. No client may have such a client id. */
export function isGroup({ clientId }: Pick<Session, 'clientId'>): boolean {
  return clientId.startsWith(SHARE_PREFIX);
}

/**
 * The groups of shared subscriptions (MQTT 5, 4.8.2).
 *
 * One member at a time serves a group, which keeps each device's messages in order. When it leaves, its unacknowledged
 * messages go to the next. The queue is a persistent session, and ends with the last member's session.
 */
export class SubscriberGroups {
  readonly #sessions: Pick<
    Sessions,
    'open' | 'closed' | 'subscribe' | 'discardLater' | 'consuming'
  >;
  /** By the key of their queues. */
  readonly #groups = new Map<string, Group>();
  readonly #ofMember = new Map<Consumer, Set<Group>>();

  constructor(
    sessions: Pick<Sessions, 'open' | 'closed' | 'subscribe' | 'discardLater' | 'consuming'>,
  ) {
    this.#sessions = sessions;
  }

  /**
   * Takes stored sessions into their groups, and ends groups whose members' sessions ended with the last run.
   *
   * @param inBackground called with each pending write of a session
   */
  start(inBackground: (key: string, stored: Promise<void>) => void): void {
    const all = this.#sessions.consuming();
    for (const { key, owner, consumer } of all) {
      inBackground(key, this.join(owner, consumer, consumer.subscriptions.list()));
    }
    for (const session of all) {
      const isEmpty = isGroup(session) && !this.#groups.has(session.key);
      if (isEmpty) this.#sessions.discardLater(session.key);
    }
  }

  /** Takes a member into the groups it subscribes to. Their queues are stored when this resolves. */
  async join(
    owner: SessionOwner,
    member: Consumer,
    subscriptions: readonly Subscription[],
  ): Promise<void> {
    await Promise.all(subscriptions.map((subscription) => this.#join(owner, member, subscription)));
  }

  /** Removes a member from groups. */
  leave(member: Consumer, names: readonly string[]): void {
    for (const group of this.#ofMember.get(member) ?? []) {
      if (names.includes(group.name)) this.#remove(group, member);
    }
  }

  /** Forgets an ended session: a member of groups, or the queue of one. */
  forget({ key, consumer }: Session): void {
    for (const group of (consumer && this.#ofMember.get(consumer)) ?? []) {
      if (consumer !== undefined) this.#remove(group, consumer);
    }
    const group = this.#groups.get(key);
    if (group === undefined || group.queue.consumer !== consumer) return;
    this.#groups.delete(key);
    for (const member of group.members.keys()) this.#ofMember.get(member)?.delete(group);
  }

  /** Notes that a member has connected or disconnected. */
  connectionChanged(member: Consumer): void {
    for (const group of this.#ofMember.get(member) ?? []) this.#choose(group);
  }

  async #join(owner: SessionOwner, member: Consumer, subscription: Subscription): Promise<void> {
    const { filter: name, qos } = subscription;
    const filter = parseSharedFilter(name)?.filter;
    if (filter === undefined) return;
    const queue = this.#sessions.open(name, { ...owner, isKept: true }, PERSISTENT);
    const group = this.#groups.get(queue.key) ?? {
      name,
      queue,
      members: new Map(),
      serving: undefined,
    };
    this.#groups.set(queue.key, group);
    const isChanged = !isDeepStrictEqual(group.members.get(member), subscription);
    group.members.set(member, subscription);
    this.#ofMember.set(member, (this.#ofMember.get(member) ?? new Set<Group>()).add(group));
    // Members may ask for different QoS: the queue gets the highest.
    const [before] = queue.consumer.subscriptions.list();
    const highest = before?.qos === 1 ? 1 : qos;
    const stored = this.#sessions.subscribe(queue.key, [{ ...before, filter, qos: highest }]);
    // This sends messages in flight again, so not when a client just repeats its subscription, as many do.
    if (isChanged && group.serving?.member === member) this.#stopServing(group);
    this.#choose(group);
    await stored;
  }

  #remove(group: Group, member: Consumer): void {
    group.members.delete(member);
    this.#ofMember.get(member)?.delete(group);
    if (this.#ofMember.get(member)?.size === 0) this.#ofMember.delete(member);
    if (group.members.size > 0) this.#choose(group);
    else {
      this.#stopServing(group);
      this.#groups.delete(group.queue.key);
      this.#sessions.discardLater(group.queue.key);
    }
  }

  /** Lets another member serve the group if the current one no longer can. */
  #choose(group: Group): void {
    const { members, serving } = group;
    if (serving !== undefined && members.has(serving.member) && serving.receiver.isOpen) return;
    this.#stopServing(group);
    const { consumer } = group.queue;
    for (const [member, { qos, isRetainAsPublished, identifier }] of members) {
      if (!member.isConnected) continue;
      // Send the messages as this member has asked for them.
      for (const subscription of consumer.subscriptions.list()) {
        consumer.subscriptions.put({ ...subscription, isRetainAsPublished, identifier });
      }
      const receiver = new MemberReceiver(consumer, member, qos);
      group.serving = { member, receiver };
      member.carried.add(consumer);
      consumer.connect(receiver);
      return;
    }
  }

  #stopServing(group: Group): void {
    const { queue, serving } = group;
    if (serving === undefined) return;
    group.serving = undefined;
    serving.member.carried.delete(queue.consumer);
    queue.consumer.disconnect(serving.receiver);
    this.#sessions.closed(queue);
  }
}

/** The connection of a group's member, which carries the messages of the group's queue (MQTT 5, 4.8.2). */
export class MemberReceiver implements Receiver {
  readonly #group: Consumer;
  readonly #member: Consumer;
  readonly #maxQos: QoS;
  readonly #connection: Receiver | undefined;

  /** @param maxQos the QoS of the member's subscription */
  constructor(group: Consumer, member: Consumer, maxQos: QoS) {
    this.#group = group;
    this.#member = member;
    this.#maxQos = maxQos;
    this.#connection = member.window.receiver;
  }

  /** Whether the member still has the same connection. */
  get isOpen(): boolean {
    return this.#connection !== undefined && this.#member.window.receiver === this.#connection;
  }

  get isWritable(): boolean {
    const { isWritable = false, maxInFlight = Number.POSITIVE_INFINITY } = this.#connection ?? {};
    return this.isOpen && isWritable && this.#member.window.inFlightCount < maxInFlight;
  }

  get takesProperties(): boolean {
    return this.#connection?.takesProperties === true;
  }

  get maxInFlight(): number {
    return this.#member.limits.maxInFlight;
  }

  /** Sends the message under one of the member's packet identifiers. */
  send(publish: OutgoingPublish): boolean {
    const { messageId } = publish;
    const settle = (isRefused: boolean) => this.#group.acknowledge(messageId, isRefused);
    if (publish.qos === 1 && this.#maxQos === 1) return this.#member.window.carry(publish, settle);
    const isSent = this.#connection?.send({ ...publish, qos: 0, messageId: 0 }) === true;
    // At QoS 0 no PUBACK follows.
    if (isSent && publish.qos === 1) settle(false);
    return isSent;
  }
}
