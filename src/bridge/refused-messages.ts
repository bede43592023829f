import type { Logger } from 'pino';
import type { SetAsideMessage, SetAsideStore } from '../site/bridge-list.js';
import { pauseBeforeRetry } from './pause.js';
import type { Upstream } from './upstream.js';

export interface RefusedMessagesOptions {
  readonly bridge: string;
  readonly store: SetAsideStore;
  readonly log: Logger;
  /** After it nothing is tried any more: what is not written down is still owed. */
  readonly signal: AbortSignal;
  readonly onSetAside: (message: SetAsideMessage) => void;
}

interface Pending {
  upstream: Upstream;
  /** Of each message with this topic and payload. */
  passes: (() => void)[];
}

/**
 * Messages that the upstream will never take: first they are kept where they can be read, then they
 * are passed, so that none is lost without a trace. Each waits for the store once, however often it
 * is sent and refused meanwhile.
 */
export class RefusedMessages {
  readonly #options: RefusedMessagesOptions;
  readonly #pending = new Map<string, Pending>();
  #isWarned = false;

  constructor(options: RefusedMessagesOptions) {
    this.#options = options;
  }

  /** @param pass called once the message is written down */
  add(upstream: Upstream, message: SetAsideMessage, pass: () => void): void {
    const key = `${message.topic}\n${message.payload.toString('base64')}`;
    const present = this.#pending.get(key);
    if (present === undefined) {
      const pending = { upstream, passes: [pass] };
      this.#pending.set(key, pending);
      void this.#keep(message, pending).finally(() => this.#pending.delete(key));
    } else if (present.upstream === upstream) {
      present.passes.push(pass);
    } else {
      // The same ones again, on a later connection.
      present.upstream = upstream;
      present.passes = [pass];
    }
  }

  async #keep(message: SetAsideMessage, pending: Pending): Promise<void> {
    const { bridge, store, log, signal, onSetAside } = this.#options;
    while (pending.passes.length > 0 && !signal.aborted) {
      try {
        await store.add(bridge, message);
      } catch (error) {
        if (!this.#isWarned)
          log.warn({ err: error }, 'refused message not set aside, trying again');
        this.#isWarned = true;
        await pauseBeforeRetry(signal);
        continue;
      }
      this.#isWarned = false;
      onSetAside(message);
      pending.passes.shift()?.();
    }
  }
}
