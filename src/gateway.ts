import type { Logger } from 'pino';
import type { Bridges } from './bridge/bridges.js';
import { openBridgeRegister, openBridges } from './bridging.js';
import { MqttBroker } from './broker/mqtt-broker.js';
import type { Config } from './config/schema.js';
import { type DeliveryParts, openDelivery } from './delivering.js';
import { GatewayStatus } from './delivery/gateway-status.js';
import { firstAdminToken } from './first-admin.js';
import { type FootageParts, openFootage } from './footage-storage.js';
import { createHttpApp } from './http/app.js';
import { Commands } from './ingest/commands.js';
import { DevicePublishes } from './ingest/device-publishes.js';
import { InvalidPublishes } from './ingest/invalid-publishes.js';
import { Presence } from './ingest/presence.js';
import { Installation } from './installation.js';
import { type GatewayAddresses, openListeners } from './listening.js';
import { createMetrics } from './metrics.js';
import { connectionShares } from './open-files.js';
import { Releasers } from './releasers.js';
import { AccessTokens } from './site/access-tokens.js';
import { Denials } from './site/denials.js';
import { Devices } from './site/devices.js';
import { FailedLogins } from './site/failed-logins.js';
import { Groups } from './site/groups.js';
import { Health } from './site/health.js';
import { KnownNetworks } from './site/known-networks.js';
import { Locations } from './site/locations.js';
import { PrincipalLimits } from './site/principal-limits.js';
import { QuotaWatch } from './site/quota-watch.js';
import { Rooms } from './site/rooms.js';
import { SiteEvents } from './site/site-events.js';
import { SiteFaults } from './site/site-faults.js';
import { SiteModel } from './site/site-model.js';
import { SiteReload } from './site/site-reload.js';
import { SteadyClock } from './site/steady-clock.js';
import { TokenExpiry } from './site/token-expiry.js';
import { followSite } from './site-following.js';
import { openStorage, type Storage } from './storage.js';

/** Interval of rereading a site with faulty records; reading 20,000 devices delays other work. */
const SITE_RECHECK_MS = 300_000;
/** Part of the ten seconds for a stop (CONTRACT 1, stop); the embedded store needs the rest. */
const STOP_TIMEOUT_MS = 3_000;
/** Of MQTT, where the answer to a failed login is only delayed. */
const FREE_FAILURES = 3;
const GIVEN_UP =
  'the store does not answer, giving up unstored messages; none of them was acknowledged';

export interface GatewayOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly version: string;
  /** The `PATH` for programs that the gateway runs. */
  readonly searchPath: string | undefined;
  /** How many files the process may open, sockets among them. */
  readonly maxOpenFiles: number;
  readonly now: () => number;
  /** Milliseconds since an arbitrary moment; never jumps. */
  readonly elapsed: () => number;
}

interface SharedParts extends GatewayOptions {
  readonly health: Health;
  readonly releasers: Releasers;
  readonly steady: SteadyClock;
}

type TakeUpBridges = (configured: Config['bridges']) => Promise<void>;

interface SiteParts {
  readonly principalLimits: PrincipalLimits;
  readonly watch: QuotaWatch;
  readonly knownNetworks: KnownNetworks;
  readonly denials: Denials;
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly locations: Locations;
  readonly groups: Groups;
  readonly rooms: Rooms;
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly adminToken: string;
}

interface IngestParts {
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly presence: Presence;
  readonly invalid: InvalidPublishes;
}

interface AllParts extends SiteParts, DeliveryParts, IngestParts, FootageParts {
  readonly storage: Storage;
  readonly broker: MqttBroker;
  readonly bridges: Bridges;
  readonly installation: Installation;
}

/** The composition root: builds every part, starts them in order, stops them in reverse. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #releasers = new Releasers();
  readonly #health = new Health();
  readonly #steady: SteadyClock;
  /** For every part that is opened. */
  readonly #shared: SharedParts;
  /** Takes up the bridges of a configuration; resolves at the end of the start. */
  readonly #takingUp: Promise<TakeUpBridges>;
  #bridgesStarted: (takeUp: TakeUpBridges) => void = () => undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#steady = new SteadyClock({ ...options, health: this.#health });
    const [health, releasers, steady] = [this.#health, this.#releasers, this.#steady];
    this.#shared = { ...options, health, releasers, steady };
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
   * Applies the bridges of a changed configuration, during a start at its end; other keys need a new start.
   */
  async reload({ bridges }: Config): Promise<void> {
    const takeUp = await this.#takingUp;
    await takeUp(bridges);
  }

  /** Stops within ten seconds, even while the store does not answer. */
  async stop(): Promise<void> {
    const { log } = this.#options;
    await this.#releasers.release({
      timeoutMs: STOP_TIMEOUT_MS,
      onFailure: (error) => log.error({ err: error }, 'failed to stop a part of the gateway'),
      onOutOfTime: () => log.warn(GIVEN_UP),
    });
  }

  async #start(): Promise<GatewayAddresses> {
    const { log, now, version } = this.#options;
    this.#steady.start();
    this.#releasers.add(() => this.#steady.stop());
    const storage = await openStorage(this.#shared);
    const site = await this.#openSite(storage);
    const delivery = await openDelivery({ ...this.#shared, ...site, storage });
    const ingest = await this.#openIngest(storage, site, delivery);
    const broker = await this.#openBroker(storage, site, delivery, ingest);
    const installation = await Installation.load(this.#options.config.dataDir, log);
    const { commands } = ingest;
    const bridging = { ...this.#shared, storage, delivery, commands, installation };
    const bridges = await openBridges(bridging);
    const status = new GatewayStatus(delivery.forwarder, this.#health, version, log, now);
    this.#releasers.add(() => status.stop());
    const steadyNow = this.#steady.now;
    const maxBytesOf = (deviceId: string) => site.principalLimits.ofDevice(deviceId).footageBytes;
    const footage = await openFootage({
      ...{ ...this.#shared, ...storage, ...site, maxBytesOf, steadyNow },
    });
    const app = this.#openHttp({
      ...{ storage, broker, bridges, installation },
      ...{ ...site, ...delivery, ...ingest, ...footage },
    });
    const shares = connectionShares(this.#options.maxOpenFiles);
    const addresses = await openListeners({ ...this.#shared, ...site, broker, app, shares });
    this.#steady.startSaving();
    // Only now: a gateway that cannot listen must not take another's place upstream.
    bridges.connect();
    const register = openBridgeRegister(bridging);
    register(this.#options.config.bridges);
    this.#bridgesStarted((configured) => {
      register(configured);
      return bridges.apply(configured);
    });
    ingest.presence.start();
    this.#tidyUp(storage, site, delivery, ingest);
    this.#health.started();
    status.start();
    return addresses;
  }

  /** Finishes in the background the work that an earlier process or version left undone. */
  #tidyUp(
    { leftovers }: Storage,
    { model }: SiteParts,
    { retained }: DeliveryParts,
    { presence }: IngestParts,
  ): void {
    const work = Promise.all([leftovers.remove(model), presence.renewOutdated(retained)]);
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'failed to tidy up after an earlier process');
    });
  }

  async #openSite(storage: Storage): Promise<SiteParts> {
    const { log, now } = this.#options;
    const adminToken = await firstAdminToken({ ...this.#options, audit: storage.audit });
    const { audit } = storage;
    const denials = new Denials({
      audit,
      headroom: storage.headroom,
      log,
      now,
      steadyNow: this.#steady.now,
    });
    denials.start();
    this.#releasers.add(() => denials.stop());
    const model = new SiteModel();
    const events = new SiteEvents();
    const faults = new SiteFaults(this.#health, log);
    const recheckMs = SITE_RECHECK_MS;
    const reload = new SiteReload({ store: storage.site, model, events, faults, recheckMs, log });
    await reload.start();
    storage.site.whenOutcomeIsUnknown(() => reload.request());
    this.#releasers.add(() => reload.stop());
    const { elapsed } = this.#options;
    const watch = new QuotaWatch({ health: this.#health, model, log, now: elapsed });
    watch.start();
    this.#releasers.add(() => watch.stop());
    return {
      watch,
      principalLimits: new PrincipalLimits(this.#options.config.limits, model),
      knownNetworks: new KnownNetworks(),
      model,
      events,
      adminToken,
      denials,
      locations: new Locations(storage.site, model, events, now),
      groups: new Groups(storage.site, model, events, now),
      rooms: new Rooms(storage.site, model, events, now),
      devices: new Devices(storage.site, model, events, now),
      accessTokens: new AccessTokens(storage.site, model, events, adminToken, now),
    };
  }

  async #openIngest(
    storage: Storage,
    site: SiteParts,
    delivery: DeliveryParts,
  ): Promise<IngestParts> {
    const { config, log, now } = this.#options;
    const { model } = site;
    const { forwarder, deliveries, alarms } = delivery;
    const steadyNow = this.#steady.now;
    const presence = new Presence(model, forwarder, storage.presence, log, now, steadyNow);
    await presence.load();
    this.#releasers.add(() => presence.stop());
    const invalid = new InvalidPublishes(deliveries, storage.invalidPublishes, log);
    return {
      presence,
      invalid,
      commands: new Commands(model, forwarder, steadyNow),
      publishes: new DevicePublishes({
        ...{ model, alarms, forwarder, invalid },
        maxAlarmBytes: config.mqtt.maxAlarmBytes,
        now,
        steadyNow,
      }),
    };
  }

  async #openBroker(
    storage: Storage,
    site: SiteParts,
    delivery: DeliveryParts,
    ingest: IngestParts,
  ): Promise<MqttBroker> {
    const { config, log, now, elapsed } = this.#options;
    const isBehindProxy = config.http.publicUrl !== undefined;
    const broker = new MqttBroker({
      ...site,
      ...delivery,
      ...ingest,
      failedLogins: new FailedLogins({
        ...{ free: FREE_FAILURES, isBehindProxy },
        ...{ watch: site.watch, now: elapsed },
      }),
      stored: storage.broker,
      unansweredMs: () => {
        const { alarms, messages, retained } = delivery;
        return Math.max(alarms.unansweredMs, messages.unansweredMs, retained.unansweredMs);
      },
      maxPacketBytes: config.mqtt.maxPacketBytes,
      maxKeepAliveSeconds: config.mqtt.maxKeepAliveSeconds,
      maxFiltersPerSession: config.mqtt.maxFiltersPerSession,
      limits: config.limits,
      health: this.#health,
      maxConnections: Math.min(
        config.limits.total.connections,
        connectionShares(this.#options.maxOpenFiles).mqtt,
      ),
      quotasOf: site.principalLimits.of,
      log,
      now,
    });
    await broker.start();
    this.#releasers.add(() => broker.stop());
    followSite({ ...site, ...delivery, presence: ingest.presence, broker, log });
    const { isSureSince } = this.#steady;
    const expiry = new TokenExpiry({ ...site, isSureSince, log });
    expiry.start();
    this.#releasers.add(() => expiry.stop());
    return broker;
  }

  #openHttp(parts: AllParts): ReturnType<typeof createHttpApp> {
    const { storage, deliveries, sessions, invalid, broker, bridges, installation } = parts;
    const { config, log, now, elapsed, version } = this.#options;
    const metrics = createMetrics({
      ...{ deliveries, invalid, version },
      sessions,
      devicesOnline: () => parts.presence.onlineCount,
      exceededQuotas: () => parts.watch.counts(),
      health: this.#health,
      connections: () => broker.connectionCount,
      unstoredBytes: () => broker.unstoredBytes,
      unkeptPublishes: () => broker.unkeptCount,
      slowedPrincipals: () => broker.slowedCount,
      heldBack: () => broker.heldBackCount,
      lostDenials: () => parts.denials.lost,
      storeMemory: () => storage.memory.memory,
      notStored: storage.headroom,
      bridges: () => bridges.statuses(),
    });
    const { history, audit, losses, deadLetters } = storage;
    return createHttpApp({
      ...parts,
      ...{ history, audit, losses, deadLetters },
      connections: broker.connections,
      invalidPublishes: storage.invalidPublishes,
      health: this.#health,
      publicUrl: config.http.publicUrl,
      metrics,
      openMetrics: config.http.openMetrics,
      cursorKey: installation.cursorKey,
      maxBodyBytes: config.http.maxBodyBytes,
      version,
      log,
      now,
      elapsed,
    });
  }
}
