import type { Logger } from 'pino';
import type { Config } from './config/schema.js';
import { isEmbeddedStore } from './config/store-schema.js';
import { createDataDirectory } from './files.js';
import type { ExternalStore, GatewayOptions } from './foundation.js';
import { Gateway } from './gateway.js';
import type { HttpListener } from './http/server/listener.js';
import { createStandingByListener } from './http/server/standing-by.js';
import { explained, type GatewayAddresses } from './listening.js';
import type { BoundAddress } from './network/listen.js';
import { CERTIFICATE_CHECK_MS, ServerCertificate } from './network/server-certificate.js';
import { Releasers } from './releasers.js';
import { keysOf } from './store/keys.js';
import { addressOfStore, type StoreAddress } from './store/open.js';
import { type HeldLease, holderName, Lease, type LeaseState } from './store/pair/lease.js';
import { checkRights, checkServer } from './store/server/check.js';
import { connectManagementRedis, connectRedis, untilReady } from './store/server/connection.js';
import { Store } from './store/store.js';

const RELEASE_TIMEOUT_MS = 1_000;
/** The store takes nothing more from a gateway that has lost the lease: nothing is worth waiting for. */
const LOST_TIMEOUT_MS = 300;
const READY_TIMEOUT_MS = 10_000;
/** A store that takes longer to answer is away, and the gateway reports this over HTTP. */
const AWAY_AFTER_MS = 1_000;

export interface ServiceOptions extends Omit<GatewayOptions, 'store' | 'beforeListening'> {
  /** Called whenever the gateway has begun to serve. */
  readonly onReady: (addresses: GatewayAddresses) => void;
  /** Called whenever the gateway begins to stand by. */
  readonly onStandingBy: () => void;
}

/**
 * A gateway for the life of the process.
 *
 * With its own store, it just serves. With an external store, which other gateways may also serve, it stands by
 * until it has the lease, serves, and stands by again when another gateway has the lease.
 */
export class Service {
  readonly #options: ServiceOptions;
  readonly #releasers = new Releasers();
  #config: Config;
  #gateway: Gateway | undefined;
  #gatewayLog: Logger;
  #held: HeldLease | undefined;
  #isStopping = false;
  /** Ends the wait of a serving gateway. */
  #stopped: () => void = () => undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#gatewayLog = options.log;
  }

  /**
   * Resolves once the gateway is ready if it has its own store, and otherwise once it is stopped.
   *
   * @throws GatewayError `start-failed`, with everything stopped again
   */
  async run(): Promise<void> {
    if (isEmbeddedStore(this.#config.redis)) {
      await this.#serve();
      return;
    }
    try {
      await this.#serveInTurn();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Applies what a reload changes, now or once the gateway serves. */
  async reload(config: Config): Promise<void> {
    const { bridges, outputs, escalations, drills } = config;
    this.#config = { ...this.#config, bridges, outputs, escalations, drills };
    await this.#gateway?.reload(config);
  }

  /** Stops within ten seconds. Gives the lease up once nothing more is written. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#gateway?.stop();
    await this.#held?.giveUp();
    this.#stopped();
    await this.#releasers.release({
      timeoutMs: RELEASE_TIMEOUT_MS,
      onFailure: (error) => this.#options.log.error({ err: error }, 'failed to leave the lease'),
      onOutOfTime: () => undefined,
    });
  }

  async #serveInTurn(): Promise<void> {
    const { log, version } = this.#options;
    const stopped = new Promise<undefined>((resolve) => {
      this.#stopped = () => resolve(undefined);
    });
    const standingBy = new StandingBy(this.#config, version, log);
    this.#releasers.add(() => standingBy.close());
    const keys = keysOf(this.#config.site);
    const releasers = this.#releasers;
    const address = addressOfStore(this.#config.redis, keys, { log, releasers });
    const lease = await this.#openLease(address, standingBy);
    while (!this.#isStopping) {
      const held = await this.#untilHeld(lease, standingBy);
      if (held === undefined || this.#isStopping) {
        await held?.giveUp();
        return;
      }
      this.#held = held;
      log.info({ epoch: held.epoch, holder: held.holder }, 'took the lease of the store');
      const isServing = await this.#serveUnder({ address, tenure: held }, held, standingBy);
      const lostTo = isServing ? await Promise.race([held.lost, stopped]) : await held.lost;
      if (this.#isStopping || lostTo === undefined) return;
      const { holder, epoch } = lostTo;
      log.warn({ holder, epoch }, 'lost the lease to another gateway, stopping to serve');
      // Everything else its parts could log follows from this.
      this.#gatewayLog.level = 'fatal';
      await this.#gateway?.stop(LOST_TIMEOUT_MS);
      this.#gateway = undefined;
    }
  }

  /** Stands by until the lease is ours, unless it is ours immediately. */
  async #untilHeld(lease: Lease, standingBy: StandingBy): Promise<HeldLease | undefined> {
    const answer = await lease.ask();
    if (answer !== undefined && 'giveUp' in answer) return answer;
    standingBy.tell(answer);
    await this.#standBy(standingBy);
    return lease.wait(
      () => !this.#isStopping,
      (state) => standingBy.tell(state),
    );
  }

  async #standBy(standingBy: StandingBy): Promise<void> {
    await standingBy.open();
    this.#options.onStandingBy();
  }

  /** Starts a gateway; false if it lost the lease before it was ready. */
  async #serveUnder(
    store: ExternalStore,
    held: HeldLease,
    standingBy: StandingBy,
  ): Promise<boolean> {
    try {
      await this.#serve(store, () => standingBy.close());
      return true;
    } catch (error) {
      if (!(await held.isLost())) throw error;
      return false;
    }
  }

  async #serve(store?: ExternalStore, beforeListening?: () => Promise<void>): Promise<void> {
    const config = this.#config;
    const log = this.#options.log.child({});
    this.#gatewayLog = log;
    const gateway = new Gateway({ ...this.#options, log, config, store, beforeListening });
    this.#gateway = gateway;
    const addresses = await gateway.start();
    if (!this.#isStopping) this.#options.onReady(addresses);
  }

  /** Connects to the external store, which must be suitable. */
  async #openLease(address: StoreAddress, standingBy: StandingBy): Promise<Lease> {
    const { log, elapsed } = this.#options;
    const {
      site,
      dataDir,
      redis: { cluster, replicas },
      lease: { lengthSeconds, renewSeconds },
    } = this.#config;
    const { sitePrefix } = keysOf(site);
    const connection = connectRedis({ ...address, name: 'server-check' });
    const patient = new Store(connection, sitePrefix, { isPatient: true });
    this.#releasers.add(() => patient.close());
    let away: NodeJS.Timeout | undefined;
    const standsBy = new Promise<never>((_, reject) => {
      away = setTimeout(() => this.#standBy(standingBy).catch(reject), AWAY_AFTER_MS);
    });
    // Before the first write. This waits for a store that is away, provided that HTTP can report it.
    const checked = untilReady(connection).then(async () => {
      await checkServer(patient, cluster !== undefined);
      await checkRights(patient, replicas > 0);
    });
    await Promise.race([checked, standsBy]).finally(() => clearTimeout(away));
    patient.close();
    const redis = connectManagementRedis({ ...address, name: 'lease' });
    this.#releasers.add(() => redis.disconnect());
    // A store that has gone away again is asked for the lease until it answers.
    await untilReady(redis, READY_TIMEOUT_MS).catch(() => undefined);
    await createDataDirectory(dataDir);
    return new Lease({
      store: new Store(redis, sitePrefix),
      holder: holderName(),
      lengthMs: lengthSeconds * 1000,
      renewMs: renewSeconds * 1000,
      elapsed,
      log,
    });
  }
}

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
    certificate?: ServerCertificate,
  ): Promise<BoundAddress> => {
    const listener = createStandingByListener({
      host,
      port,
      certificate,
      reason: () => this.#reason,
      version: this.#version,
      log: this.#log,
    });
    this.#listeners.push(listener);
    return listener.start();
  };
}
