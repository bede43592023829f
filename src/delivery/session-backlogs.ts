import type { SessionList, SessionPage, SessionView } from '../site/access/session-list.js';
import { OldestQueued } from './accounts.js';
import type { Consumer } from './consumer.js';
import type { ConsumingSession } from './sessions/session.js';
import type { Sessions } from './sessions/sessions.js';

/** The persistent sessions of devices and access tokens. The bridges list their own queues. */
export class SessionBacklogs implements SessionList {
  readonly #sessions: Pick<Sessions, 'persistent'>;
  /** One read of the store at a time per consumer, however many callers ask. */
  readonly #oldest = new WeakMap<Consumer, OldestQueued>();

  constructor(sessions: Pick<Sessions, 'persistent'>) {
    this.#sessions = sessions;
  }

  async withLargestBacklogs(limit: number): Promise<SessionPage> {
    const all = this.#sessions.persistent().flatMap((session) => {
      const principal = principalOf(session.owner.key);
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

function backlogOf({ consumer: { queued } }: ConsumingSession): SessionView['backlog'] {
  return { alarms: queued.alarms, messages: queued.messages };
}

/** @param owner `principalKey`, or the key of a bridge or webhook */
function principalOf(owner: string): SessionView['principal'] | undefined {
  const [type, id = ''] = owner.split(':');
  if (type === 'device') return { type, id };
  return type === 'token' ? { type: 'access-token', id } : undefined;
}
