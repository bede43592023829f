import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import type { AccessToken, Device } from '../domain/site.js';
import type { SiteEvents } from './site-events.js';
import type { SiteModel } from './site-model.js';
import type { SiteStore } from './site-store.js';

const RETRY_AFTER_MS = 500;

/**
 * Reads the site again when it is unknown whether a change was made: the store may have made it after
 * it was given up. What it turns out to have ended is told as if it had been answered.
 */
export class SiteReload {
  readonly #store: SiteStore;
  readonly #model: SiteModel;
  readonly #events: SiteEvents;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #isRunning = false;
  #isWanted = false;

  constructor(store: SiteStore, model: SiteModel, events: SiteEvents, log: Logger) {
    this.#store = store;
    this.#model = model;
    this.#events = events;
    this.#log = log;
  }

  /** Reads it as soon as the store answers. */
  request(): void {
    this.#isWanted = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#log.error({ err: error }, 'site not read again');
    });
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#reload();
      } catch (error) {
        this.#log.warn({ err: error }, 'site not read again, trying again');
        this.#isWanted = true;
        await delay(RETRY_AFTER_MS, undefined, { signal: this.#stopping.signal });
      }
    }
    this.#isRunning = false;
  }

  async #reload(): Promise<void> {
    const records = await this.#store.load();
    const [devices, tokens] = [this.#model.devices(), this.#model.accessTokens()];
    const texts = devices.map((device) => this.#model.contextOf(device)?.text);
    this.#model.load(records);
    for (const [index, device] of devices.entries()) {
      this.#tellOfDevice(device, texts[index]);
    }
    for (const token of tokens) this.#tellOfToken(token);
    this.#log.info('site read again, a change was left open');
  }

  #tellOfDevice(before: Device, textBefore: string | undefined): void {
    const after = this.#model.device(before.id);
    const principal = principalKey({ type: 'device', id: before.id });
    if (after?.secretHash !== before.secretHash) this.#events.emit('credentialEnded', principal);
    if (after === undefined) {
      this.#events.emit('principalRemoved', principal);
      this.#events.emit('deviceDeleted', before);
    } else if (after.locationId !== before.locationId) {
      this.#events.emit('deviceMoved', { before, after });
    } else if (this.#model.contextOf(after)?.text !== textBefore) {
      this.#events.emit('deviceChanged', after.id);
    }
  }

  #tellOfToken({ id, grants }: AccessToken): void {
    if (this.#model.accessToken(id) !== undefined) return;
    const principal = principalKey({ type: 'token', id, grants });
    this.#events.emit('credentialEnded', principal);
    this.#events.emit('principalRemoved', principal);
  }
}
