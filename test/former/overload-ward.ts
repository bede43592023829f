import type { Plan } from '../harness/load/plan.js';
import { Api } from './clients/api.js';
import { loginOf } from './clients/raw-client.js';
import { GatewayProcess } from './gateway/gateway-process.js';
import { peakResidentBytes } from './gateway/process-usage.js';
import { LoadProcess } from './load-process.js';
import { type Account, accountOf } from './metrics.js';

const DEVICES = 50;
const FIRST_DEVICE_NUMBER = 10;
const PROBES = 2;
const FIRST_PROBE_NUMBER = 90;

/** The offered load and its readers. */
export interface OverloadCase {
  readonly kind: 'alarms' | 'telemetry';
  readonly qos: 1 | 2;
  readonly session: 'clean' | 'durable';
  readonly readers: number;
}

/**
 * A gateway under load, with a probe.
 *
 * The load is fifty devices with readers; the probe is two devices of another home with their own
 * reader. Each runs in its own process.
 */
export class OverloadWard {
  readonly gateway: GatewayProcess;
  readonly load: LoadProcess;
  readonly probe: LoadProcess;
  readonly #durableReaders: readonly string[];
  readonly #log: 'alarms' | 'messages';
  /** Whether the load is telemetry: a backlog may drop it, even the newest. */
  readonly mayDrop: boolean;

  private constructor(
    gateway: GatewayProcess,
    load: LoadProcess,
    probe: LoadProcess,
    durableReaders: readonly string[],
    log: 'alarms' | 'messages',
  ) {
    this.gateway = gateway;
    this.load = load;
    this.probe = probe;
    this.#durableReaders = durableReaders;
    this.#log = log;
    this.mayDrop = log === 'messages';
  }

  static async open({ kind, qos, session, readers }: OverloadCase): Promise<OverloadWard> {
    const gateway = await GatewayProcess.start();
    const api = new Api(gateway);
    const shared = { port: gateway.mqttPort };
    const names = Array.from({ length: readers }, (_, index) => `reader-${index}`);
    const home = await openHome(api, DEVICES, names, session === 'clean');
    const rest = kind === 'alarms' ? 'alarms/#' : 'load';
    const filter = `care-homes/${home.locationId}/devices/+/${rest}`;
    const { devices, readers: logins } = home;
    const plan: Plan = {
      ...shared,
      kind,
      qos,
      firstNumber: FIRST_DEVICE_NUMBER,
      filter,
      devices,
      readers: logins,
    };
    const quiet = await openHome(api, PROBES, ['probe-reader'], true);
    const probePlan: Plan = {
      ...shared,
      kind: 'alarms',
      qos: 1,
      firstNumber: FIRST_PROBE_NUMBER,
      filter: `care-homes/${quiet.locationId}/devices/+/alarms/#`,
      devices: quiet.devices,
      readers: quiet.readers,
    };
    const [load, probe] = [await LoadProcess.open(plan), await LoadProcess.open(probePlan)];
    const durable = session === 'durable' ? names : [];
    return new OverloadWard(
      gateway,
      load,
      probe,
      durable,
      kind === 'alarms' ? 'alarms' : 'messages',
    );
  }

  /** The accounts of the durable readers at `/metrics`. */
  accounts(): Promise<Account[]> {
    return Promise.all(
      this.#durableReaders.map((name) => accountOf(this.gateway, name, this.#log)),
    );
  }

  /** The most memory that the gateway's process has used so far. */
  peakResidentBytes(): Promise<number> {
    return peakResidentBytes(this.gateway.processId);
  }

  async close(): Promise<void> {
    await Promise.all([this.load.end(), this.probe.end()]);
    await this.gateway.remove();
  }
}

async function openHome(api: Api, count: number, readerNames: readonly string[], isClean: boolean) {
  const { id: locationId } = await api.createLocation();
  const viewer = await api.viewer(locationId);
  const devices = await Promise.all(
    Array.from({ length: count }, () => api.createDevice(locationId)),
  );
  const readers = readerNames.map((name) => ({ ...loginOf(viewer, name), isClean }));
  return { locationId, devices: devices.map((device) => loginOf(device, device.id)), readers };
}
