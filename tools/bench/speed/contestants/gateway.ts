import { times } from '../../../../test/former/at-a-time.js';
import { Api } from '../../../../test/former/clients/api.js';
import { loginOf } from '../../../../test/former/clients/raw-client.js';
import { GatewayProcess } from '../../../../test/former/gateway/gateway-process.js';
import { Store } from '../../../../test/former/stored/store.js';
import type { Login } from '../../../../test/harness/load/plan.js';
import type { Cleanups } from '../cleanups.js';
import type { Channel, Contestant, RestartableBroker } from './contestant.js';

/** The gateway as built, with its embedded store and default settings. */
export class GatewayBroker implements RestartableBroker {
  readonly gateway: GatewayProcess;
  readonly locationId: string;
  readonly devices: readonly Login[];
  readonly falls: Channel;
  readonly telemetry: Channel;
  readonly #viewer: Login;
  readonly #storeProcessId: number;

  private constructor(
    gateway: GatewayProcess,
    locationId: string,
    devices: readonly Login[],
    viewer: Login,
    storeProcessId: number,
  ) {
    const topics = `care-homes/${locationId}/devices`;
    this.gateway = gateway;
    this.locationId = locationId;
    this.devices = devices;
    this.falls = { publish: 'devices/{device}/alarms', filter: `${topics}/+/alarms/#` };
    this.telemetry = { publish: 'devices/{device}/load', filter: `${topics}/+/load` };
    this.#viewer = viewer;
    this.#storeProcessId = storeProcessId;
  }

  /** @param config further keys of the configuration file */
  static async start(count: number, cleanups: Cleanups, config: object = {}) {
    const gateway = await GatewayProcess.create();
    cleanups.onEnd(() => gateway.remove());
    await gateway.configure(config);
    await gateway.start();
    const api = new Api(gateway);
    const { id: locationId } = await api.createLocation();
    const devices = await times(count, () => api.createDevice(locationId));
    const viewer = await api.viewer(locationId);
    const store = await Store.of(gateway);
    store.close();
    return new GatewayBroker(
      gateway,
      locationId,
      devices.map((device) => loginOf(device, device.id)),
      loginOf(viewer, ''),
      store.processId,
    );
  }

  get port(): number {
    return this.gateway.mqttPort;
  }

  get processIds(): readonly number[] {
    return [this.gateway.processId, this.#storeProcessId];
  }

  subscriber(clientId: string): Login {
    return { ...this.#viewer, clientId };
  }

  /** The store keeps running and is adopted. */
  async restart(): Promise<void> {
    await this.gateway.kill();
    await this.gateway.start();
  }
}

export const GATEWAY: Contestant<GatewayBroker> = {
  name: 'this gateway',
  start: (devices, cleanups) => GatewayBroker.start(devices, cleanups),
};
