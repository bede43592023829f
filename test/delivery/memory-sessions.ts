import type { LogPositions } from '../../src/delivery/log/log-entry.js';
import type {
  SessionPosition,
  SessionRecord,
  SessionStore,
  StoredSessions,
} from '../../src/delivery/sessions/session-store.js';

/** Keeps stored sessions in memory, as the port promises. */
export class MemorySessions implements SessionStore {
  readonly records = new Map<string, SessionRecord>();
  countedUpTo: LogPositions = { alarms: 0, messages: 0 };
  readonly released: number[] = [];
  isAway = false;
  /** Cursors that are still stored before the store goes away. */
  writesLeft = Number.POSITIVE_INFINITY;

  load(): Promise<StoredSessions> {
    const sessions = [...this.records.values()].map((record) => ({
      ...copy(record),
      received: [],
    }));
    return Promise.resolve({ sessions, unreadable: [], countedUpTo: this.countedUpTo });
  }

  save(session: SessionRecord): Promise<void> {
    this.#write();
    this.records.set(session.key, copy(session));
    return Promise.resolve();
  }

  async saveCursors(sessions: readonly SessionPosition[]): Promise<void> {
    for (const session of sessions) {
      this.#write();
      const known = this.records.get(session.key);
      if (known !== undefined) this.records.set(session.key, copy({ ...known, ...session }));
    }
    return Promise.resolve();
  }

  saveCountedUpTo(positions: LogPositions): Promise<void> {
    this.#write();
    this.countedUpTo = copy(positions);
    return Promise.resolve();
  }

  release(_key: string, packetIdentifiers: readonly number[]): Promise<void> {
    this.released.push(...packetIdentifiers);
    return Promise.resolve();
  }

  delete(key: string): Promise<void> {
    this.records.delete(key);
    return Promise.resolve();
  }

  #write(): void {
    if (this.isAway || this.writesLeft <= 0) throw new Error('the store is away');
    this.writesLeft--;
  }
}

/** Copies a value through JSON, as the store does. */
function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
