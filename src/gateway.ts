import { openBridges } from './composition/bridging.js';
import { openBroker } from './composition/brokering.js';
import { openDelivery } from './composition/delivering.js';
import { EventStreaming } from './composition/event-streaming.js';
import { openFootage } from './composition/footage-storage.js';
import type { Foundation, GatewayOptions } from './composition/foundation.js';
import { openIngest } from './composition/ingesting.js';
import { Installation } from './composition/installation.js';
import { type GatewayAddresses, openCertificate, openListeners } from './composition/listening.js';
import { openOutputs } from './composition/outputting.js';
import { openHttp } from './composition/serving.js';
import { followSite } from './composition/site-following.js';
import { loadSite, type SiteParts } from './composition/site-loading.js';
import { openStorage } from './composition/storage.js';
import type { Config } from './config/schema.js';
import { GatewayStatus } from './delivery/gateway-status.js';
import type { ServerCertificate } from './network/server-certificate.js';
import { Releasers } from './releasers.js';
import { runtimeFault } from './runtime-support.js';
import { TokenExpiry } from './site/access/token-expiry.js';
import { SteadyClock } from './site/clock/steady-clock.js';
import { Health } from './site/health/health.js';
import { DRILL_CHECK_MS } from './watch/drills.js';
import { ESCALATION_CHECK_MS } from './watch/escalations.js';

/** Part of the ten seconds for a stop (docs/reference/contract.md, 1, stop); the embedded store needs the rest. */
const STOP_TIMEOUT_MS = 3_000;
const DAY_MS = 24 * 3600 * 1000;
const GIVEN_UP =
  'the store does not answer, giving up unstored messages; none of them was acknowledged';

type TakeUpBridges = (configured: Config['bridges']) => Promise<void>;

/** The composition root: builds all parts, starts them in order, stops them in reverse. */
export class Gateway {
  readonly #foundation: Foundation;
  /** Applies the bridges of a configuration; resolves at the end of the start. */
  readonly #takingUp: Promise<TakeUpBridges>;
  #bridgesStarted: (takeUp: TakeUpBridges) => void = () => undefined;
  #certificate: ServerCertificate | undefined;

  constructor(options: GatewayOptions) {
    const { log, now, elapsed } = options;
    const health = new Health(now);
    const steady = new SteadyClock({ log, now, elapsed, health });
    this.#foundation = { ...options, health, releasers: new Releasers(), steady };
    this.#takingUp = new Promise((resolve) => {
      this.#bridgesStarted = resolve;
    });
  }

  /** @throws GatewayError `start-failed`, with everything stopped again */
  async start(): Promise<GatewayAddresses> {
    try {
      return await this.#start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /**
   * Reads the TLS certificate again, and applies the bridges of a changed configuration (during a start, at its end).
   * Other keys need a new start.
   */
  async reload({ bridges }: Config): Promise<void> {
    await this.#certificate?.reload();
    const takeUp = await this.#takingUp;
    await takeUp(bridges);
  }

  /** Stops within ten seconds, even while the store does not answer. */
  async stop(timeoutMs = STOP_TIMEOUT_MS): Promise<void> {
    const { log, releasers } = this.#foundation;
    await releasers.release({
      timeoutMs,
      onFailure: (error) => log.error({ err: error }, 'failed to stop a part of the gateway'),
      onOutOfTime: () => log.warn(GIVEN_UP),
    });
  }

  async #start(): Promise<GatewayAddresses> {
    const foundation = this.#foundation;
    const { config, health, log, now, releasers, steady, version } = foundation;
    this.#reportRuntime();
    steady.start();
    releasers.add(() => steady.stop());
    this.#certificate = await openCertificate(foundation);
    const storage = await openStorage(foundation);
    const site = await loadSite(foundation, storage);
    const delivery = await openDelivery(foundation, storage, site);
    const ingest = await openIngest(foundation, storage, site, delivery);
    const brokers = await openBroker(foundation, site, delivery, ingest);
    followSite(site, delivery, ingest, brokers, log);
    this.#startTokenExpiry(site);
    const installation = await Installation.load(config.dataDir, log);
    const bridges = await openBridges(foundation, storage, delivery, ingest, installation);
    const outputs = await openOutputs(foundation, storage, delivery, installation);
    const status = new GatewayStatus(delivery.forwarder, health, version, now);
    releasers.add(() => status.stop());
    const footage = await openFootage(foundation, storage, site);
    const events = new EventStreaming(foundation, storage, site, delivery, brokers);
    const app = openHttp(foundation, {
      storage,
      site,
      delivery,
      ingest,
      brokers,
      installation,
      bridges,
      footage,
      outputs,
      events,
      certificateEndMs: () => this.#certificate?.endMs,
    });
    storage.startConfirming();
    await foundation.beforeListening?.();
    const addresses = await openListeners(foundation, site, brokers.broker, app, this.#certificate);
    // Stops before the listeners, which wait for the requests in hand.
    releasers.add(() => events.stop());
    steady.startSaving();
    // Only now: a gateway that cannot listen must not replace another upstream.
    bridges.connect();
    outputs.connect();
    this.#bridgesStarted((configured) => bridges.apply(configured));
    ingest.presence.start();
    ingest.presence.renewOutdated();
    releasers.every(DRILL_CHECK_MS, () => ingest.drills.check());
    releasers.every(ESCALATION_CHECK_MS, () => void ingest.escalations.check());
    health.started();
    status.start();
    return addresses;
  }

  #reportRuntime(): void {
    const { health, log, now, releasers, runtime } = this.#foundation;
    const found = () => runtimeFault(runtime, now());
    const fault = found();
    if (fault !== undefined) log.warn({ runtime }, 'this Node.js has no security fixes any more');
    health.report('runtime', fault);
    releasers.every(DAY_MS, () => health.report('runtime', found()));
  }

  #startTokenExpiry({ accessTokens, events }: SiteParts): void {
    const { log, releasers } = this.#foundation;
    const expiry = new TokenExpiry({ accessTokens, events, log });
    expiry.start();
    releasers.add(() => expiry.stop());
  }
}
