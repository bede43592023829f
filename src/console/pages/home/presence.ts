import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Device } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import type { LiveFeed, LiveMessage } from '../../live.js';

/** Whether a device is connected and since when, from its newest `status` message. */
interface Status {
  readonly online: boolean;
  readonly since: string;
}

interface Heard extends Status {
  readonly number: number;
}

/**
 * Which devices of one home are online, as it changes.
 *
 * It has a signal for each device, so that a device that connects redraws one line of three hundred.
 */
export class Presence {
  readonly #locationId: string;
  readonly #devices = new Map<string, Signal<Heard | undefined>>();
  readonly #missed = new Set<() => void>();
  #count = 0;

  constructor(locationId: string) {
    this.#locationId = locationId;
  }

  /** @returns a function that ends the listening */
  listen(feed: LiveFeed): () => void {
    return feed.listen({
      message: (message) => this.#received(message),
      missed: () => {
        for (const onMissed of this.#missed) onMissed();
      },
    });
  }

  /** Calls back when statuses may have been missed. @returns a function that ends this */
  onMissed(listener: () => void): () => void {
    this.#missed.add(listener);
    return () => this.#missed.delete(listener);
  }

  /** The newest status of the device; undefined when none came since the devices were read. */
  of(deviceId: string): Signal<Status | undefined> {
    return this.#entry(deviceId);
  }

  /** A mark for `read`; take it before reading the devices. */
  mark(): number {
    return this.#count;
  }

  /** Discards statuses from before the mark that contradict the list of devices, which was read since. */
  read(devices: readonly Device[], mark: number): void {
    for (const { id, online } of devices) {
      const entry = this.#devices.get(id);
      const heard = entry?.peek();
      if (entry === undefined || heard === undefined) continue;
      if (heard.number <= mark && heard.online !== online) entry.value = undefined;
    }
  }

  #received({ topic, payload }: LiveMessage): void {
    const [root, locationId, devices, deviceId = '', level, more] = topic.split('/');
    const isStatus = root === 'care-homes' && devices === 'devices' && level === 'status';
    if (!isStatus || more !== undefined || locationId !== this.#locationId) return;
    const { online, since } = payload;
    if (typeof online !== 'boolean' || typeof since !== 'string') return;
    this.#count += 1;
    this.#entry(deviceId).value = { online, since, number: this.#count };
  }

  #entry(deviceId: string): Signal<Heard | undefined> {
    const known = this.#devices.get(deviceId);
    if (known !== undefined) return known;
    const fresh = signal<Heard | undefined>(undefined);
    this.#devices.set(deviceId, fresh);
    return fresh;
  }
}

/** Which devices of the home are online, while the component is shown. */
export function usePresence(locationId: string): Presence {
  const { live } = useConsole();
  const presence = useMemo(() => new Presence(locationId), [locationId]);
  useEffect(() => presence.listen(live), [presence, live]);
  return presence;
}
