/** The composition root: every part once, in the order of its start. */
import type { Logger } from 'pino';
import { startBackups } from './backup/daily.js';
import { openBridges } from './bridge/bridges.js';
import { EventStreams } from './broker/event-streams.js';
import { type BrokerParts, openBroker } from './broker/open.js';
import type { Config } from './config/schema.js';
import { GatewayStatus } from './delivery/gateway-status.js';
import { type DeliveryParts, openDelivery } from './delivery/open.js';
import { examine, runtimeFault } from './doctor.js';
import type { Device } from './domain/site.js';
import { Installation } from './files.js';
import { openFootage } from './footage/open.js';
import type { Foundation, GatewayOptions } from './foundation.js';
import { type IngestParts, openIngest } from './ingest/open.js';
import { type GatewayAddresses, openCertificate, openListeners } from './listening.js';
import type { ServerCertificate } from './network/server-certificate.js';
import { openOutputs } from './outputs/outputs.js';
import { Releasers } from './releasers.js';
import { openHttp } from './serving.js';
import { sessionOwners } from './session-owners.js';
import { SteadyClock } from './site/clock/steady-clock.js';
import { Health } from './site/health/health.js';
import { openSite, type SiteParts } from './site/open.js';
import { EXPIRY_CHECK_MS } from './site/tokens.js';
import { openStorage } from './store/open.js';
import { startDiscovery } from './watch/home-assistant.js';
import { openWatch, type WatchParts } from './watch/open.js';
import { startWatchdog } from './watch/watchdog.js';

/** Part of the ten seconds for a stop (contract 1, stop); the embedded store needs the rest. */
const STOP_TIMEOUT_MS = 3_000;
const DAY_MS = 24 * 3600 * 1000;
const GIVEN_UP =
  'the store does not answer, giving up unstored messages; none of them was acknowledged';

/** The keys that a reload applies, besides the certificate. */
export type Reloaded = Pick<Config, 'bridges' | 'outputs' | 'escalations' | 'drills'>;

/** The composition root: builds all parts, starts them in order, stops them in reverse. */
export class Gateway {
  readonly #foundation: Foundation;
  /** Applies changed keys; resolves at the end of the start. */
  readonly #applying: Promise<(changed: Reloaded) => Promise<void>>;
  #canApply: (apply: (changed: Reloaded) => Promise<void>) => void = () => undefined;
  #escalations: Config['escalations'];
  #certificate: ServerCertificate | undefined;

  constructor(options: GatewayOptions) {
    const { log, now, elapsed } = options;
    const health = new Health(now);
    const steady = new SteadyClock({ log, now, elapsed, health });
    this.#escalations = options.config.escalations;
    const escalations = () => this.#escalations;
    this.#foundation = { ...options, escalations, health, releasers: new Releasers(), steady };
    this.#applying = new Promise((resolve) => {
      this.#canApply = resolve;
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
   * Reads the TLS certificate again, and applies what a reload changes (during a start, at its end). Other keys need a
   * new start.
   */
  async reload(changed: Reloaded): Promise<void> {
    await this.#certificate?.reload();
    const apply = await this.#applying;
    await apply(changed);
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
    const site = await openSite(foundation, storage);
    const owners = sessionOwners(config, storage.witness, site);
    const delivery = await openDelivery(foundation, storage, site, owners);
    const ingest = await openIngest(foundation, storage, site, delivery);
    const brokers = await openBroker(foundation, site, delivery, ingest);
    const watch = await openWatch(foundation, storage, site, delivery.writer, ingest);
    followSite(site, delivery, ingest, watch, brokers, log);
    releasers.every(EXPIRY_CHECK_MS, () => site.accessTokens.sweep());
    const installation = await Installation.load(config.dataDir, log);
    const bridges = await openBridges(foundation, storage, delivery, ingest.commands, installation);
    const outputs = await openOutputs(foundation, storage, delivery, installation);
    const status = new GatewayStatus(delivery.forwarder, health, version, now);
    releasers.add(() => status.stop());
    const footage = await openFootage(foundation, storage.audit, site);
    const events = new EventStreams(foundation, storage, site, delivery, brokers);
    const app = openHttp(foundation, {
      storage,
      site,
      delivery,
      ingest,
      watch,
      brokers,
      installation,
      bridges,
      footage,
      outputs,
      events,
      certificateEndMs: () => this.#certificate?.endMs,
      authority: this.#certificate?.authority,
      examine: (language) => examine(foundation, language, true),
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
    this.#canApply(async (changed) => {
      this.#escalations = changed.escalations;
      watch.drills.plan(changed.drills);
      await Promise.all([bridges.apply(changed.bridges), outputs.apply(changed.outputs)]);
    });
    ingest.presence.start();
    ingest.presence.renewOutdated();
    watch.start();
    health.started();
    status.start();
    startWatchdog(foundation);
    startDiscovery(foundation, site, delivery);
    startBackups(foundation);
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
}

/** Ends or renews connections, sessions and retained messages after a change of the site. */
export function followSite(
  { changes }: SiteParts,
  { sessions, retained }: DeliveryParts,
  { presence, unreadable }: IngestParts,
  { supervision }: WatchParts,
  { broker, flows }: BrokerParts,
  log: Logger,
): void {
  changes.on('tokenChanged', (id) => presence.hubChanged(id));
  changes.on('credentialEnded', (principal) => broker.disconnect(principal));
  changes.on('principalRemoved', (principal) => {
    flows.forget(principal);
    sessions.discardAllOf(principal).catch((error: unknown) => {
      log.warn({ principal, err: error }, 'failed to tidy up after a change');
    });
  });
  // A command given at the old place must not run at another.
  const forgetRetainedOf = ({ id, locationId }: Device) => retained.forget(id, locationId);
  changes.on('deviceDeleted', (device) => {
    presence.removed(device);
    unreadable.deviceIds.delete(device.id);
    supervision.removed(device.id);
    forgetRetainedOf(device);
  });
  changes.on('deviceMoved', ({ before, after }) => {
    presence.left(before);
    forgetRetainedOf(before);
    presence.changed(after.id);
  });
  changes.on('deviceChanged', (deviceId) => presence.changed(deviceId));
}
