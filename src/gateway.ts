import type { Logger } from 'pino';
import { bridgeNameOf, bridgeOwner } from './bridge/bridge-queue.js';
import { Bridges } from './bridge/bridges.js';
import { sessionOwner } from './broker/authentication.js';
import { MqttBroker } from './broker/mqtt-broker.js';
import { RetainedRedis } from './broker/retained-redis.js';
import type { Config } from './config/schema.js';
import { countBacklogs, markBacklogs } from './delivery/backlog-count.js';
import { BacklogWatch } from './delivery/backlog-watch.js';
import { Deliveries } from './delivery/deliveries.js';
import { Forwarder } from './delivery/forwarder.js';
import { GatewayStatus } from './delivery/gateway-status.js';
import { LiveCopies } from './delivery/live-copies.js';
import { isAlarm, type LogReader, type NewAlarm, type NewMessage } from './delivery/log-entry.js';
import { LogWriter } from './delivery/log-writer.js';
import { NewestRetained } from './delivery/newest-retained.js';
import type { SessionOwner } from './delivery/session.js';
import { Sessions } from './delivery/sessions.js';
import { Upkeep } from './delivery/upkeep.js';
import type { Principal } from './domain/grants.js';
import { bridgeStatusTopic } from './domain/topics.js';
import { firstAdminToken } from './first-admin.js';
import { type FootageParts, openFootage } from './footage-storage.js';
import { heldOwner } from './held-sessions.js';
import { createHttpApp } from './http/app.js';
import { Commands } from './ingest/commands.js';
import { DevicePublishes } from './ingest/device-publishes.js';
import { InvalidPublishes } from './ingest/invalid-publishes.js';
import { Presence } from './ingest/presence.js';
import { Installation } from './installation.js';
import { type GatewayAddresses, openListeners } from './listening.js';
import { createMetrics } from './metrics.js';
import { openRefusals, type RefusalParts } from './refusals.js';
import { Releasers } from './releasers.js';
import { AccessTokens } from './site/access-tokens.js';
import { BridgeRegister } from './site/bridge-register.js';
import { Devices } from './site/devices.js';
import { Groups } from './site/groups.js';
import { Health } from './site/health.js';
import { Locations } from './site/locations.js';
import { Principals } from './site/principals.js';
import { Rooms } from './site/rooms.js';
import { SiteEvents } from './site/site-events.js';
import { SiteFaults } from './site/site-faults.js';
import { SiteModel } from './site/site-model.js';
import { SiteReload } from './site/site-reload.js';
import { SteadyClock } from './site/steady-clock.js';
import { TokenExpiry } from './site/token-expiry.js';
import { followSite } from './site-following.js';
import { openStorage, type Storage } from './storage.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Interval of rereading a site with faulty records; reading 20,000 devices delays other work. */
const SITE_RECHECK_MS = 300_000;
/** Part of the ten seconds for a stop (CONTRACT 1, stop); the embedded store needs the rest. */
const STOP_TIMEOUT_MS = 3_000;
const GIVEN_UP =
  'the store does not answer, giving up unstored messages; none of them was acknowledged';
const MAX_NAMED_SESSIONS = 3;

export interface GatewayOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly version: string;
  /** The `PATH` for programs that the gateway runs. */
  readonly searchPath: string | undefined;
  readonly now: () => number;
  /** Milliseconds since an arbitrary moment; never jumps. */
  readonly elapsed: () => number;
}

type TakeUpBridges = (configured: Config['bridges']) => Promise<void>;

interface SiteParts extends RefusalParts {
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly locations: Locations;
  readonly groups: Groups;
  readonly rooms: Rooms;
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly adminToken: string;
}

interface DeliveryParts {
  readonly deliveries: Deliveries;
  readonly sessions: Sessions;
  readonly alarms: LogWriter<NewAlarm>;
  readonly messages: LogWriter<NewMessage>;
  readonly forwarder: Forwarder;
  readonly retained: NewestRetained;
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
  /** Applies the bridges of a configuration; resolves at the end of the start. */
  readonly #takingUp: Promise<TakeUpBridges>;
  #bridgesStarted: (takeUp: TakeUpBridges) => void = () => undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#steady = new SteadyClock({ ...options, health: this.#health });
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
    const storage = await openStorage({
      ...this.#options,
      health: this.#health,
      releasers: this.#releasers,
      steady: this.#steady,
    });
    const site = await this.#openSite(storage);
    const delivery = await this.#openDelivery(storage, site);
    const ingest = await this.#openIngest(storage, site, delivery);
    const broker = await this.#openBroker(storage, site, delivery, ingest);
    const installation = await Installation.load(this.#options.config.dataDir, log);
    const bridges = await this.#openBridges(storage, delivery, ingest, installation);
    const status = new GatewayStatus(delivery.forwarder, this.#health, version, log, now);
    this.#releasers.add(() => status.stop());
    const releasers = this.#releasers;
    const steadyNow = this.#steady.now;
    const footage = await openFootage({ ...this.#options, ...storage, releasers, steadyNow });
    const app = this.#openHttp({
      ...{ storage, broker, bridges, installation },
      ...{ ...site, ...delivery, ...ingest, ...footage },
    });
    const addresses = await openListeners({ ...this.#options, broker, app, releasers });
    this.#steady.startSaving();
    // Only now: a gateway that cannot listen must not take another's place upstream.
    bridges.connect();
    const register = this.#openBridgeRegister(storage, installation);
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
    const steadyNow = this.#steady.now;
    const releasers = this.#releasers;
    const refusals = openRefusals({ ...storage, log, releasers, now, steadyNow });
    const model = new SiteModel();
    const events = new SiteEvents();
    const faults = new SiteFaults(this.#health, log);
    const recheckMs = SITE_RECHECK_MS;
    const reload = new SiteReload({ store: storage.site, model, events, faults, recheckMs, log });
    await reload.start();
    storage.site.whenOutcomeIsUnknown(() => reload.request());
    this.#releasers.add(() => reload.stop());
    return {
      model,
      events,
      adminToken,
      ...refusals,
      locations: new Locations(storage.site, model, events, now),
      groups: new Groups(storage.site, model, events, now),
      rooms: new Rooms(storage.site, model, events, now),
      devices: new Devices(storage.site, model, events, now),
      accessTokens: new AccessTokens(storage.site, model, events, adminToken, now),
    };
  }

  async #openDelivery(storage: Storage, site: SiteParts): Promise<DeliveryParts> {
    const { log } = this.#options;
    const { logs } = storage;
    const deliveries = new Deliveries({
      newest: {
        alarms: await logs.lastSequence('alarms'),
        messages: await logs.lastSequence('messages'),
      },
      reader: logs,
      log,
      now: this.#steady.now,
      elapsedSinceMs: this.#steady.elapsedSinceMs,
      // Entries still in memory are recorded again, alarms under their old ids (FINDINGS R7).
      onLost: (_log, entries) => {
        for (const { source } of entries) {
          if (source === undefined) continue;
          if (isAlarm(source)) alarms.append(source, () => undefined);
          else messages.append(source, () => undefined);
        }
      },
    });
    const alarms = new LogWriter<NewAlarm>({
      ...{ log: 'alarms', store: logs.alarms, deliveries, logger: log },
      onOutage: (reason) => this.#health.report('alarm-log', reason),
    });
    const messages = new LogWriter<NewMessage>({
      ...{ log: 'messages', store: logs.messages, deliveries, logger: log },
      onOutage: (reason) => this.#health.report('message-log', reason),
    });
    const liveCopies = new LiveCopies(alarms, deliveries);
    const sessions = await this.#openSessions(storage, site, deliveries);
    liveCopies.start();
    this.#releasers.add(() => {
      liveCopies.stop();
      alarms.stop();
      messages.stop();
    });
    const watch = new BacklogWatch(deliveries, this.#health);
    watch.start();
    this.#releasers.add(() => watch.stop());
    const retained = new NewestRetained(new RetainedRedis(storage.broker));
    const forwarder = new Forwarder({ deliveries, writer: messages, retained, log });
    return { deliveries, sessions, alarms, messages, forwarder, retained };
  }

  /** Loads the sessions and counts their backlogs; only afterwards may anything be appended. */
  async #openSessions(
    storage: Storage,
    site: SiteParts,
    deliveries: Deliveries,
  ): Promise<Sessions> {
    const { config, log } = this.#options;
    const { logs } = storage;
    const principals = new Principals(site.model, site.accessTokens);
    const sessions = new Sessions({
      ...{ store: storage.sessions, deliveries, log },
      ownerOf: (key) =>
        this.#bridgeOwner(key) ??
        ownerOf(principals.byKey(key)) ??
        heldOwner(key, site.model, principals),
      limits: {
        maxInFlight: config.mqtt.maxInFlight,
        maxQueued: config.sessions.maxQueuedMessages,
        maxQueuedBytes: config.sessions.maxQueuedBytes,
        maxAgeMs: config.sessions.maxQueuedHours * HOUR_MS,
      },
      forgetAfterMs: config.sessions.forgetAfterDays * DAY_MS,
      now: this.#steady.now,
    });
    const { unreadable, countedUpTo } = await sessions.start();
    this.#reportUnreadable(unreadable);
    this.#releasers.add(() => sessions.stop());
    await countBacklogs(deliveries, logs, countedUpTo);
    this.#markBacklogs(deliveries, logs);
    storage.startRetention(
      () => Math.min(deliveries.floor('alarms'), sessions.storedFloor('alarms')) + 1,
    );
    const upkeep = new Upkeep({ logs, deliveries, sessions, log });
    upkeep.start();
    this.#releasers.add(() => upkeep.stop());
    return sessions;
  }

  /** Sets the marks for jumping, in the background: a start does not wait for a scan. */
  #markBacklogs(deliveries: Deliveries, reader: LogReader): void {
    const stopping = new AbortController();
    this.#releasers.add(() => stopping.abort());
    const marked = markBacklogs(deliveries, reader, deliveries.newest, stopping.signal);
    marked.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'failed to scan the logs for marks');
    });
  }

  #reportUnreadable(clientIds: readonly string[]): void {
    if (clientIds.length === 0) return;
    this.#options.log.error({ clientIds }, 'failed to read stored sessions');
    const names = clientIds.slice(0, MAX_NAMED_SESSIONS).join(', ');
    const fault = `${clientIds.length} stored sessions cannot be read, their backlogs are lost: ${names}`;
    this.#health.reportElsewhere('sessions', fault);
  }

  /** The owner of a bridge's stored queue, undefined when the bridge is not configured. */
  #bridgeOwner(key: string): SessionOwner | undefined {
    const name = bridgeNameOf(key);
    const { config, log } = this.#options;
    const options = config.bridges.find((bridge) => bridge.name === name);
    if (name !== undefined && options === undefined) {
      log.warn({ bridge: name }, 'discarding the queue of a bridge that is no longer configured');
    }
    return options && bridgeOwner(options);
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
    const invalid = new InvalidPublishes(deliveries, storage.rejections, log);
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
    const { config, log, now } = this.#options;
    const broker = new MqttBroker({
      ...site,
      ...delivery,
      ...ingest,
      stored: storage.broker,
      unansweredMs: () => {
        const { alarms, messages, retained } = delivery;
        return Math.max(alarms.unansweredMs, messages.unansweredMs, retained.unansweredMs);
      },
      maxPacketBytes: config.mqtt.maxPacketBytes,
      maxKeepAliveSeconds: config.mqtt.maxKeepAliveSeconds,
      maxFiltersPerSession: config.mqtt.maxFiltersPerSession,
      log,
      now,
    });
    await broker.start();
    this.#releasers.add(() => broker.stop());
    followSite({ ...site, ...delivery, presence: ingest.presence, broker, log });
    const expiry = new TokenExpiry(site.accessTokens, site.events, log, now);
    expiry.start();
    this.#releasers.add(() => expiry.stop());
    return broker;
  }

  async #openBridges(
    storage: Storage,
    { sessions, forwarder }: DeliveryParts,
    { commands }: IngestParts,
    installation: Installation,
  ): Promise<Bridges> {
    const { config, log, now } = this.#options;
    const bridges = new Bridges({
      ...{ sessions, forwarder, log, now },
      commands: { accept: (command) => commands.acceptAndWait(command) },
      installation: installation.name,
      health: this.#health,
      deadLetters: storage.deadLetters,
      maxPacketBytes: config.mqtt.maxPacketBytes,
      steadyNow: this.#steady.now,
      wallTimeOf: this.#steady.wallTimeOf,
    });
    this.#releasers.add(() => bridges.stop());
    // Only the status of former bridges is removed: a start on a full disk must not wait for a write.
    const kept = config.bridges.map(({ name }) => bridgeStatusTopic(name));
    await forwarder.forget(bridgeStatusTopic('+'), kept).catch((error: unknown) => {
      log.warn({ err: error }, 'failed to remove the status of former bridges');
    });
    await bridges.apply(config.bridges);
    return bridges;
  }

  /** Opens the register; returns the function that records the configured bridges. */
  #openBridgeRegister(storage: Storage, installation: Installation) {
    const { log, now } = this.#options;
    const register = new BridgeRegister(storage.bridgeRegister, log, now);
    this.#releasers.add(() => register.stop());
    return (configured: Config['bridges']) =>
      register.note(new Map(configured.map((one) => [one.name, installation.fingerprint(one)])));
  }

  #openHttp(parts: AllParts): ReturnType<typeof createHttpApp> {
    const { storage, deliveries, sessions, invalid, broker, bridges, installation } = parts;
    const { config, log, now, elapsed, version } = this.#options;
    const metrics = createMetrics({
      ...{ deliveries, invalid },
      consumers: () => sessions.consumers(),
      health: this.#health,
      connections: () => broker.connectionCount,
      unstoredBytes: () => broker.unstoredBytes,
      unkeptPublishes: () => broker.unkeptCount,
      turnedAwayRefusals: () => parts.permissionRefusals.turnedAwayCount,
      lostAuditEntries: () => parts.backgroundAudit.lost,
      bridges: () => bridges.statuses(),
    });
    const { history, audit, losses, deadLetters } = storage;
    return createHttpApp({
      ...parts,
      ...{ history, audit, losses, deadLetters },
      rejections: storage.rejections,
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

function ownerOf(principal: Principal | undefined): SessionOwner | undefined {
  return principal && sessionOwner(principal);
}
