import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mqtt, { type MqttClient } from 'mqtt';
import { times } from '../../test/former/at-a-time.js';
import { Api } from '../../test/former/clients/api.js';
import { faultsOf } from '../../test/former/clients/connection-list.js';
import { loginOf } from '../../test/former/clients/raw-client.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { Store } from '../../test/former/stored/store.js';
import type { Login } from '../../test/harness/load/plan.js';
import type { GatewayNeeds } from './attack.js';
import type { Arms, Ports } from './attacker/plan.js';
import { asClient, type Site } from './site.js';
import { tlsEnvironment } from './tls-environment.js';

const DEVICES = 20;
const ALARMS_PER_SECOND = 100;
const ATTACKER_NAME = 'Hostile camera';

/** The built gateway on its embedded store, with two homes. */
export class GatewaySite implements Site {
  readonly peer = 'gateway';
  readonly attackerNames = new Set<string>();
  readonly gateway: GatewayProcess;
  readonly api: Api;
  /** The location of the attacker. */
  readonly locationId: string;
  readonly #victimsId: string;
  readonly #directory: string;
  readonly #status: MqttClient;
  readonly #faults = new Set<string>();
  readonly #storeId: number;
  readonly #needs: GatewayNeeds;
  #newcomer: Login | undefined;
  #logLines = 0;
  #logBytes = 0;

  private constructor(parts: {
    gateway: GatewayProcess;
    api: Api;
    locationId: string;
    victimsId: string;
    directory: string;
    status: MqttClient;
    storeId: number;
    needs: GatewayNeeds;
  }) {
    this.gateway = parts.gateway;
    this.api = parts.api;
    this.locationId = parts.locationId;
    this.#victimsId = parts.victimsId;
    this.#directory = parts.directory;
    this.#status = parts.status;
    this.#storeId = parts.storeId;
    this.#needs = parts.needs;
    // The status contains no names: the administrator asks for them.
    this.#status.on('message', () => void this.#readFaults());
  }

  /** @param isExposed whether it listens on every address of its namespace */
  static async start(needs: GatewayNeeds, isExposed: boolean): Promise<GatewaySite> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-hostile-'));
    const exposed = {
      GATEWAY_ALLOW_PLAINTEXT: 'true',
      GATEWAY_MQTT_HOST: '0.0.0.0',
      GATEWAY_HTTP_HOST: '0.0.0.0',
    };
    const gateway = await GatewayProcess.create(
      {
        ...(needs.tls === undefined ? {} : await tlsEnvironment(directory, needs.tls)),
        ...(isExposed ? exposed : {}),
        ...needs.environment,
      },
      needs.maxOpenFiles,
    );
    if (needs.upstreamPort !== undefined) {
      const url = `mqtt://127.0.0.1:${needs.upstreamPort}`;
      await gateway.configure({ bridges: [{ name: 'hostile', url, protocol: '3.1.1' }] });
    }
    await gateway.start();
    const api = new Api(gateway);
    const { id: victimsId } = await api.createLocation('Haus am See');
    const { id: locationId } = await api.createLocation('Haus am Wald');
    const admin = await api.createToken([{ location: '*', role: 'admin' }]);
    const credentials = { username: admin.id, password: admin.token };
    const status = await mqtt.connectAsync(gateway.mqttUrl, { ...credentials });
    const store = await Store.of(gateway);
    store.close();
    const ids = { locationId, victimsId, storeId: store.processId };
    const site = new GatewaySite({ gateway, api, directory, status, needs, ...ids });
    await status.subscribeAsync('gateway/status', { qos: 1 });
    return site;
  }

  get ports(): Ports {
    const { mqtt, http, mqtts, https } = this.gateway.addresses;
    return { mqtt: mqtt.port, http: http.port, mqtts: mqtts?.port, https: https?.port };
  }

  get processIds(): readonly number[] {
    return [this.gateway.processId, this.#storeId];
  }

  faults = (): readonly string[] => [...this.#faults];

  async #readFaults(): Promise<void> {
    for (const fault of await faultsOf(this.gateway)) this.#faults.add(fault);
  }

  /** Counts each line only once: recounting a flood of lines would take forever. */
  logBytes = (): number => {
    const { lines } = this.gateway;
    for (; this.#logLines < lines.length; this.#logLines++) {
      this.#logBytes += (lines[this.#logLines]?.length ?? 0) + 1;
    }
    return this.#logBytes;
  };

  async arms(devices: number, tokens = 0): Promise<Arms> {
    const made = await times(devices, () => this.api.createDevice(this.locationId, ATTACKER_NAME));
    const grants = [{ location: this.locationId, role: 'viewer' }];
    const viewers = await times(tokens, () => this.api.createToken(grants, ATTACKER_NAME));
    // A fault names a device or a token by its id or its name.
    for (const name of [ATTACKER_NAME, ...made.map(idOf), ...viewers.map(idOf)]) {
      this.attackerNames.add(name);
    }
    return {
      devices: made.map((device) => loginOf(device, device.id)),
      tokens: viewers.map((token) => loginOf(token, token.id)),
      filter: `care-homes/${this.locationId}/#`,
      texts: {},
    };
  }

  async ward(areSubscribersShared: boolean) {
    const id = this.#victimsId;
    const grants = [id, ...(areSubscribersShared ? [this.locationId] : [])];
    const viewer = await this.api.createToken(
      grants.map((location) => ({ location, role: 'viewer' })),
    );
    const devices = await times(DEVICES + 1, () => this.api.createDevice(id));
    const [newcomer, ...regular] = devices.map((device) => loginOf(device, device.id));
    if (newcomer === undefined) throw new Error('no devices were created');
    this.#newcomer = asClient(newcomer, 'newcomer');
    return {
      devices: regular,
      alarmsPerSecond: ALARMS_PER_SECOND,
      topic: 'devices/{device}/alarms',
      live: loginOf(viewer, 'live'),
      durable: loginOf(viewer, 'durable'),
      filter: `care-homes/${areSubscribersShared ? '+' : id}/devices/+/alarms/#`,
      newcomer: this.newcomer(),
      http: { url: `${this.gateway.httpUrl}/care-homes/${id}/devices`, token: viewer.token },
    };
  }

  newcomer(): Login {
    if (this.#newcomer === undefined) throw new Error('there is no ward yet');
    return this.#newcomer;
  }

  get maxOpenFiles(): number | undefined {
    return this.#needs.maxOpenFiles;
  }

  httpUrl(): string {
    return this.gateway.httpUrl;
  }

  upstreamPort(): number {
    const { upstreamPort } = this.#needs;
    if (upstreamPort === undefined) throw new Error('the gateway has no bridge');
    return upstreamPort;
  }

  ended(): string | undefined {
    if (!this.gateway.isRunning) return 'the gateway has ended';
    return existsSync(`/proc/${this.#storeId}`) ? undefined : 'the store has ended';
  }

  async remove(): Promise<void> {
    this.#status.end(true);
    await this.gateway.remove();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}
