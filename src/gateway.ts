import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConnectionRate } from './broker/connection-rate.js';
import type { BoundAddress } from './broker/listeners.js';
import { TcpListener, WebSocketListener } from './broker/listeners.js';
import { MqttBroker } from './broker/mqtt-broker.js';
import { RetainedRedis } from './broker/retained-redis.js';
import type { Config } from './config/schema.js';
import { Forwarder } from './delivery/forwarder.js';
import { GatewayStatus } from './delivery/gateway-status.js';
import { LogTail } from './delivery/log-tail.js';
import { LogTrimmer } from './delivery/log-trimmer.js';
import { Router } from './delivery/router.js';
import { Sessions } from './delivery/sessions.js';
import { GatewayError } from './errors.js';
import { createHttpApp } from './http/app.js';
import { createHttpListener } from './http/listener.js';
import { Commands } from './ingest/commands.js';
import { DevicePublishes } from './ingest/device-publishes.js';
import { Presence } from './ingest/presence.js';
import { Rejections } from './ingest/rejections.js';
import type { Log } from './log.js';
import { Releasers } from './releasers.js';
import { AccessTokens } from './site/access-tokens.js';
import { Devices } from './site/devices.js';
import { Health } from './site/health.js';
import { Locations } from './site/locations.js';
import { SiteEvents } from './site/site-events.js';
import { SiteModel } from './site/site-model.js';
import type { Storage } from './storage.js';
import { openStorage } from './storage.js';
import { loadAdminToken } from './store/data-directory.js';

/** Part of the ten seconds that stopping may take (CONTRACT 1, stop). */
const HTTP_CLOSE_DEADLINE_MS = 2_000;

export interface GatewayOptions {
  readonly config: Config;
  readonly log: Log;
  readonly version: string;
  /** `PATH`, for the programs that the gateway runs. */
  readonly searchPath: string | undefined;
  readonly now: () => number;
}

/** Where the gateway listens, by the names of the ready line. */
export interface GatewayAddresses {
  readonly mqtt: BoundAddress;
  readonly http: BoundAddress;
  readonly mqtts?: BoundAddress;
  readonly https?: BoundAddress;
}

interface SiteParts {
  readonly model: SiteModel;
  readonly events: SiteEvents;
  readonly locations: Locations;
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly adminToken: string;
}

interface DeliveryParts {
  readonly router: Router;
  readonly sessions: Sessions;
  readonly forwarder: Forwarder;
  readonly retained: RetainedRedis;
}

interface IngestParts {
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly presence: Presence;
}

/** The composition root: builds every part, starts them in order, stops them in reverse. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #releasers = new Releasers();
  readonly #health = new Health();

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `start-failed`; whatever had been started is stopped again */
  async start(): Promise<GatewayAddresses> {
    try {
      return await this.#start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#releasers.release((error) => {
      this.#options.log.error({ err: error }, 'not stopped cleanly');
    });
  }

  async #start(): Promise<GatewayAddresses> {
    const { log, now, version } = this.#options;
    const storage = await openStorage({
      ...this.#options,
      health: this.#health,
      releasers: this.#releasers,
    });
    const site = await this.#openSite(storage);
    const delivery = await this.#openDelivery(storage);
    const ingest = await this.#openIngest(storage, site, delivery);
    const broker = await this.#openBroker(storage, site, delivery, ingest);
    const status = new GatewayStatus(delivery.forwarder, this.#health, version, log, now);
    this.#releasers.add(() => status.stop());
    const addresses = await this.#listen(storage, site, ingest, broker);
    this.#health.started();
    status.start();
    return addresses;
  }

  async #openSite(storage: Storage): Promise<SiteParts> {
    const { config, now } = this.#options;
    const adminToken = config.adminToken ?? (await loadAdminToken(config.dataDir));
    const model = new SiteModel();
    model.load(await storage.site.load());
    const events = new SiteEvents();
    return {
      model,
      events,
      adminToken,
      locations: new Locations(storage.site, model),
      devices: new Devices(storage.site, model, events, now),
      accessTokens: new AccessTokens(storage.site, model, events, adminToken, now),
    };
  }

  async #openDelivery(storage: Storage): Promise<DeliveryParts> {
    const { config, log, now } = this.#options;
    const router = new Router({
      alarms: new LogTail(await storage.logs.lastSequence('alarms')),
      messages: new LogTail(await storage.logs.lastSequence('messages')),
    });
    const retained = new RetainedRedis(storage.broker);
    const sessions = new Sessions({
      store: storage.sessions,
      reader: storage.logs,
      router,
      maxInFlight: config.mqtt.maxInFlight,
      log,
      now,
    });
    await sessions.start();
    this.#releasers.add(() => sessions.stop());
    const trimmer = new LogTrimmer(storage.logs, router, log);
    trimmer.start();
    this.#releasers.add(() => trimmer.stop());
    return { router, sessions, retained, forwarder: new Forwarder(router, storage.logs, retained) };
  }

  async #openIngest(
    storage: Storage,
    site: SiteParts,
    delivery: DeliveryParts,
  ): Promise<IngestParts> {
    const { config, log, now } = this.#options;
    const { model } = site;
    const { forwarder, router } = delivery;
    const presence = new Presence(model, forwarder, storage.presence, log, now);
    await presence.start();
    return {
      presence,
      commands: new Commands(model, forwarder, now),
      publishes: new DevicePublishes({
        model,
        recorder: storage.logs,
        router,
        forwarder,
        rejections: new Rejections(router, storage.rejections, log),
        maxAlarmBytes: config.mqtt.maxAlarmBytes,
        now,
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
      maxPacketBytes: config.mqtt.maxPacketBytes,
      maxKeepAliveSeconds: config.mqtt.maxKeepAliveSeconds,
      maxFiltersPerSession: config.mqtt.maxFiltersPerSession,
      log,
      now,
    });
    await broker.start();
    this.#releasers.add(() => broker.stop());
    site.events.on('credentialEnded', (principal) => broker.disconnect(principal));
    site.events.on('principalRemoved', (principal) => {
      delivery.sessions.discardAllOf(principal).catch((error: unknown) => {
        log.warn({ err: error, principal }, 'sessions of a removed principal not deleted');
      });
    });
    return broker;
  }

  async #listen(
    storage: Storage,
    site: SiteParts,
    ingest: IngestParts,
    broker: MqttBroker,
  ): Promise<GatewayAddresses> {
    const { config, log, now, version } = this.#options;
    const { connectionsPerSecond, connectionBurst } = config.limits;
    const rate = new ConnectionRate(connectionsPerSecond, connectionBurst, now);
    const handle = broker.handle.bind(broker);
    const webSockets = new WebSocketListener(config.mqtt.maxPacketBytes, rate, handle);
    const app = createHttpApp({
      ...site,
      history: storage.history,
      presence: ingest.presence,
      rejections: storage.rejections,
      health: this.#health,
      footageLinks: () => ({ video: null, audio: null }),
      cursorKey: createHash('sha256').update(`alarm-cursor/${site.adminToken}`).digest(),
      maxBodyBytes: config.http.maxBodyBytes,
      version,
      log,
      now,
    });
    const onUpgrade = webSockets.upgrade.bind(webSockets);

    const http = async (host: string, port: number, tls?: TlsMaterial): Promise<BoundAddress> => {
      const listener = createHttpListener({ app, host, port, onUpgrade, log, ...(tls && { tls }) });
      this.#releasers.add(() => listener.stop(HTTP_CLOSE_DEADLINE_MS));
      return listener.start();
    };
    const mqtt = async (host: string, port: number, tls?: TlsMaterial): Promise<BoundAddress> => {
      const listener = new TcpListener({ host, port, tls, rate, handle, log });
      this.#releasers.add(() => listener.stop());
      return listener.start();
    };
    const plain = {
      mqtt: await mqtt(config.mqtt.host, config.mqtt.port),
      http: await http(config.http.host, config.http.port),
    };
    if (config.tls === undefined) return plain;
    const { host } = config.tls;
    const tls = await readTls(config.tls.certFile, config.tls.keyFile);
    return {
      ...plain,
      mqtts: await mqtt(host, config.mqtt.tlsPort, tls),
      https: await http(host, config.http.tlsPort, tls),
    };
  }
}

interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

async function readTls(certFile: string, keyFile: string): Promise<TlsMaterial> {
  try {
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  } catch (cause) {
    throw new GatewayError('start-failed', 'The TLS certificate or key cannot be read.', { cause });
  }
}
