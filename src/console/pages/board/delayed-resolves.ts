import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';

/** How long a resolve can be undone before it is sent: the gateway takes none back. */
const UNDO_MS = 10_000;

/** Whether a resolve can still be undone, or has been sent and waits for its answer. */
type ResolveState = 'waiting' | 'sent';

/** Delays each resolve, so that it can be undone. */
export class DelayedResolves {
  readonly #states = signal<ReadonlyMap<string, ResolveState>>(new Map());
  readonly states: ReadonlySignal<ReadonlyMap<string, ResolveState>> = this.#states;
  readonly #settle = new Map<string, (isWanted: boolean) => void>();

  /** @returns the result of `send`, unless undone */
  delay<Answer>(key: string, send: () => Promise<Answer>): Promise<Answer | 'undone'> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(true), UNDO_MS);
      const settle = (isWanted: boolean) => {
        clearTimeout(timer);
        this.#settle.delete(key);
        this.#show(key, isWanted ? 'sent' : undefined);
        if (!isWanted) return resolve('undone');
        send()
          .finally(() => this.#show(key, undefined))
          .then(resolve, reject);
      };
      this.#settle.set(key, settle);
      this.#show(key, 'waiting');
    });
  }

  undo(key: string): void {
    this.#settle.get(key)?.(false);
  }

  /** Sends all before it returns: the page or the token may be gone a moment later. */
  sendAll(): void {
    for (const settle of [...this.#settle.values()]) settle(true);
  }

  #show(key: string, state: ResolveState | undefined): void {
    const states = new Map(this.#states.peek());
    if (state === undefined) states.delete(key);
    else states.set(key, state);
    this.#states.value = states;
  }
}

/** The resolves of a page; leaving the page sends those that still wait. */
export function useDelayedResolves(): DelayedResolves {
  const { session } = useConsole();
  const [resolves] = useState(() => new DelayedResolves());
  useEffect(() => {
    const sendAll = () => resolves.sendAll();
    addEventListener('pagehide', sendAll);
    const endListening = session.beforeSignOut(sendAll);
    return () => {
      removeEventListener('pagehide', sendAll);
      endListening();
      sendAll();
    };
  }, [session, resolves]);
  return resolves;
}
