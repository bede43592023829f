import type { Logger } from 'pino';
import type { Config } from '../config/schema.js';
import type { HttpListener } from '../http/server/listener.js';
import { createStandingByListener } from '../http/server/standing-by.js';
import type { BoundAddress } from '../network/listen.js';
import { CERTIFICATE_CHECK_MS, ServerCertificate } from '../network/server-certificate.js';
import type { LeaseState } from '../store/pair/lease.js';
import { explained } from './listening.js';

const STORE_IS_AWAY =
  'This gateway stands by: the store does not answer, so that it cannot know whether another serves.';

/** The HTTP interface of a gateway on standby: it reports health and names the gateway that serves. */
export class StandingBy {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #version: string;
  readonly #listeners: HttpListener[] = [];
  #opening: Promise<void> | undefined;
  #checking: NodeJS.Timeout | undefined;
  #reason = STORE_IS_AWAY;
  #holder: string | undefined;

  constructor(config: Config, version: string, log: Logger) {
    this.#config = config;
    this.#version = version;
    this.#log = log;
  }

  /**
   * Opens the HTTP listeners, unless they are open.
   *
   * @throws GatewayError `start-failed` when an address cannot be bound
   */
  async open(): Promise<void> {
    this.#opening ??= this.#open();
    await this.#opening;
  }

  /** Sets who serves, and logs a change. */
  tell(state: LeaseState | undefined): void {
    if (state === undefined) {
      this.#reason = STORE_IS_AWAY;
      return;
    }
    const { holder, epoch } = state;
    this.#reason = `This gateway stands by: ${holder} serves the site.`;
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#log.info({ holder, epoch }, 'another gateway serves the site of this store');
  }

  /** Frees the addresses for the gateway. */
  async close(): Promise<void> {
    // A failed opening has released them and told its caller why.
    await this.#opening?.catch(() => undefined);
    await this.#free();
  }

  async #open(): Promise<void> {
    const { http, tls } = this.#config;
    const listen = explained(this.#listen, 'http');
    try {
      const addresses: Record<string, BoundAddress> = { http: await listen(http.host, http.port) };
      if (tls !== undefined) {
        const certificate = await this.#openCertificate(tls);
        addresses['https'] = await listen(tls.host, http.tlsPort, certificate);
      }
      this.#log.info({ addresses }, 'gateway standing by');
    } catch (error) {
      await this.#free();
      throw error;
    }
  }

  /** The serving gateway reports the faults of its certificate: this one shows none. */
  async #openCertificate(tls: NonNullable<Config['tls']>): Promise<ServerCertificate> {
    const unseen = { report: () => undefined };
    const options = { ...tls, health: unseen, log: this.#log, now: Date.now };
    const certificate = await ServerCertificate.open(options);
    this.#checking = setInterval(() => void certificate.check(), CERTIFICATE_CHECK_MS);
    return certificate;
  }

  async #free(): Promise<void> {
    clearInterval(this.#checking);
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.stop(0)));
    this.#opening = undefined;
  }

  readonly #listen = (
    host: string,
    port: number,
    tls?: { readonly cert: string; readonly key: string },
  ): Promise<BoundAddress> => {
    const listener = createStandingByListener({
      host,
      port,
      tls,
      reason: () => this.#reason,
      version: this.#version,
      log: this.#log,
    });
    this.#listeners.push(listener);
    return listener.start();
  };
}
