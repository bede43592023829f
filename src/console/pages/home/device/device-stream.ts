import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { useConsole } from '../../../console-parts.js';
import type { LiveMessage } from '../../../live.js';
import { LiveFeed } from '../../../live.js';

const MAX_MESSAGES = 50;

export interface StreamedMessage extends LiveMessage {
  /** Rises by one with each message. */
  readonly number: number;
  readonly shownAt: string;
}

/** The newest messages of one device, while its page is shown. */
export class DeviceStream {
  readonly feed: LiveFeed;
  readonly #messages = signal<readonly StreamedMessage[]>([]);
  readonly #isPaused = signal(false);
  /** The newest first. */
  readonly messages: ReadonlySignal<readonly StreamedMessage[]> = this.#messages;
  readonly isPaused: ReadonlySignal<boolean> = this.#isPaused;
  #newest: readonly StreamedMessage[] = [];
  #count = 0;
  #frame: number | undefined;

  constructor(filter: string) {
    this.feed = new LiveFeed([filter]);
    this.feed.listen({
      message: (message) => this.#received(message),
      missed: () => undefined,
    });
  }

  /** Freezes what is shown; messages that arrive meanwhile appear when it resumes. */
  setPaused(isPaused: boolean): void {
    this.#isPaused.value = isPaused;
    this.#show();
  }

  clear(): void {
    this.#newest = [];
    this.#messages.value = [];
  }

  #received(message: LiveMessage): void {
    this.#count += 1;
    const shownAt = new Date(this.feed.clock.now()).toISOString();
    const shown = { ...message, number: this.#count, shownAt };
    this.#newest = [shown, ...this.#newest.slice(0, MAX_MESSAGES - 1)];
    // Once per frame, however fast a device sends.
    this.#frame ??= requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    this.#frame = undefined;
    if (!this.#isPaused.peek()) this.#messages.value = this.#newest;
  }
}

/** Reads the messages of a device until its page is left. */
export function useDeviceStream(locationId: string, deviceId: string): DeviceStream {
  const { session } = useConsole();
  const token = session.token.value;
  const stream = useMemo(
    () => new DeviceStream(`care-homes/${locationId}/devices/${deviceId}/#`),
    [locationId, deviceId],
  );
  useEffect(() => {
    if (token === null) return;
    stream.feed.start(token);
    return () => stream.feed.stop();
  }, [stream, token]);
  return stream;
}
