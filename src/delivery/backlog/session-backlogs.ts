import type { SessionList, SessionPage, SessionView } from '../../site/access/session-list.js';
import type { Consumer } from '../consumer.js';
import type { ConsumingSession } from '../sessions/session.js';
import type { Sessions } from '../sessions/sessions.js';
import { OldestQueued } from './oldest-queued.js';

/** The persistent sessions of devices and access tokens. The bridges list their own queues. */
export class SessionBacklogs implements SessionList {
  readonly #sessions: Pick<Sessions, 'withConsumers'>;
  /** One read of the store at a time per consumer, however many callers ask. */
  readonly #oldest = new WeakMap<Consumer, OldestQueued>();

  constructor(sessions: Pick<Sessions, 'withConsumers'>) {
    this.#sessions = sessions;
  }

  async withLargestBacklogs(limit: number): Promise<SessionPage> {
    const all = this.#sessions.withConsumers().flatMap((session) => {
      const principal = session.isPersistent ? principalOf(session.owner.key) : undefined;
      return principal === undefined ? [] : [{ session, principal, backlog: backlogOf(session) }];
    });
    all.sort(
      (one, other) =>
        other.backlog.alarms - one.backlog.alarms ||
        other.backlog.messages - one.backlog.messages ||
        Number(one.session.consumer.isConnected) - Number(other.session.consumer.isConnected) ||
        one.session.seenAtMs - other.session.seenAtMs,
    );
    const sessions = await Promise.all(
      all.slice(0, limit).map(async ({ session, principal, backlog }): Promise<SessionView> => {
        const { clientId, consumer, seenAtMs } = session;
        const connected = consumer.isConnected;
        const awaySinceMs = connected ? null : seenAtMs;
        const oldestQueuedAtMs = (await this.#oldestOf(consumer).receivedAtMs()) ?? null;
        return { clientId, principal, connected, awaySinceMs, backlog, oldestQueuedAtMs };
      }),
    );
    return { total: all.length, sessions };
  }

  #oldestOf(consumer: Consumer): OldestQueued {
    const known = this.#oldest.get(consumer) ?? new OldestQueued(consumer);
    this.#oldest.set(consumer, known);
    return known;
  }
}

/** The consumers with a backlog of messages, by `principalKey` of their owners. */
export function backlogsByOwner(sessions: Pick<Sessions, 'consuming'>): Map<string, Consumer[]> {
  const byOwner = new Map<string, Consumer[]>();
  for (const { owner, consumer } of sessions.consuming()) {
    if (consumer.backlogBytes === 0) continue;
    const consumers = byOwner.get(owner.key);
    if (consumers === undefined) byOwner.set(owner.key, [consumer]);
    else consumers.push(consumer);
  }
  return byOwner;
}

function backlogOf({ consumer: { queued } }: ConsumingSession): SessionView['backlog'] {
  return { alarms: queued.alarms, messages: queued.messages };
}

/** @param owner `principalKey`, or the key of a bridge or webhook */
function principalOf(owner: string): SessionView['principal'] | undefined {
  const [type, id = ''] = owner.split(':');
  if (type === 'device') return { type, id };
  return type === 'token' ? { type: 'access-token', id } : undefined;
}
