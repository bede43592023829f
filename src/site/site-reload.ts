import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { principalKey } from '../domain/grants.js';
import type { AccessToken, Device } from '../domain/site.js';
import type { SiteEvents } from './site-events.js';
import type { SiteFaults } from './site-faults.js';
import { isRepaired, type SiteState } from './site-findings.js';
import type { SiteModel } from './site-model.js';
import type { SiteStore } from './site-store.js';

const RETRY_AFTER_MS = 500;

export interface SiteReloadOptions {
  readonly store: SiteStore;
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly faults: SiteFaults;
  /** Interval of rereading the site while the store has an inconsistency that it cannot repair. */
  readonly recheckMs: number;
  readonly log: Logger;
}

/** A device and its context as they were before a reload. */
interface DeviceBefore {
  readonly device: Device;
  readonly text: string | undefined;
}

/**
 * Keeps the model equal to the stored site.
 *
 * The site is read at start; again when it is unknown whether a change was made, as the store may have made
 * it after the timeout; and regularly while records are lost or unreadable, as somebody may restore them.
 * Changes found by a reload are announced like any other.
 */
export class SiteReload {
  readonly #options: SiteReloadOptions;
  readonly #stopping = new AbortController();
  #recheck: NodeJS.Timeout | undefined;
  #isRunning = false;
  #isWanted = false;

  constructor(options: SiteReloadOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `store-unavailable` */
  async start(): Promise<void> {
    const { store, model } = this.#options;
    const state = await store.load();
    model.load(state);
    await this.#check(state);
  }

  /** Requests a reload, which is made as soon as the store answers. */
  request(): void {
    this.#isWanted = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#run().catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#options.log.error({ part: 'site', err: error }, 'failed to reload the site');
    });
  }

  stop(): void {
    clearTimeout(this.#recheck);
    this.#stopping.abort();
  }

  async #run(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#reload();
      } catch (error) {
        const { log } = this.#options;
        log.warn({ part: 'site', err: error }, 'failed to reload the site, retrying');
        this.#isWanted = true;
        await delay(RETRY_AFTER_MS, undefined, { signal: this.#stopping.signal });
      }
    }
    this.#isRunning = false;
  }

  async #reload(): Promise<void> {
    const { store, model, log } = this.#options;
    const state = await store.load();
    const tokens = model.accessTokens();
    const devices = model
      .devices()
      .map((device) => ({ device, text: model.context(device.id)?.text }));
    model.load(state);
    for (const before of devices) this.#announceDevice(before);
    for (const token of tokens) this.#announceToken(token);
    await this.#check(state);
    log.info({ part: 'site' }, 'site reloaded');
  }

  /** Repairs members and reports findings. Must follow the load: later changes are newer than `state`. */
  async #check(state: SiteState): Promise<void> {
    const { store, faults, recheckMs } = this.#options;
    const findings = [...state.findings, ...(await store.repairMembers(state.records))];
    faults.report(findings);
    clearTimeout(this.#recheck);
    if (this.#stopping.signal.aborted || findings.every(isRepaired)) return;
    this.#recheck = setTimeout(() => this.request(), recheckMs).unref();
  }

  #announceDevice({ device: before, text }: DeviceBefore): void {
    const { model, events } = this.#options;
    const after = model.device(before.id);
    const principal = principalKey({ type: 'device', id: before.id });
    if (after?.secretHash !== before.secretHash) events.emit('credentialEnded', principal);
    if (after === undefined) {
      if (model.isUnreadable(principal)) return;
      events.emit('principalRemoved', principal);
      events.emit('deviceDeleted', before);
    } else if (after.locationId !== before.locationId) {
      events.emit('deviceMoved', { before, after });
    } else if (model.context(after.id)?.text !== text) {
      events.emit('deviceChanged', after.id);
    }
  }

  #announceToken({ id, grants }: AccessToken): void {
    const { model, events } = this.#options;
    if (model.accessToken(id) !== undefined) return;
    const principal = principalKey({ type: 'token', id, grants });
    events.emit('credentialEnded', principal);
    if (!model.isUnreadable(principal)) events.emit('principalRemoved', principal);
  }
}
