import { Mosquitto } from '../../test/former/servers/mosquitto.js';
import type { Login } from '../../test/harness/load/plan.js';
import type { Arms, Ports } from './attacker/plan.js';
import type { Site } from './site.js';

const DEVICES = 20;
const ALARMS_PER_SECOND = 100;

/** Mosquitto with the same clients, all of which may do everything: it knows no homes. */
export class MosquittoSite implements Site {
  readonly peer = 'mosquitto';
  readonly maxOpenFiles = undefined;
  readonly attackerNames = new Set<string>();
  readonly #mosquitto: Mosquitto;

  private constructor(mosquitto: Mosquitto) {
    this.#mosquitto = mosquitto;
  }

  static async start(): Promise<MosquittoSite> {
    return new MosquittoSite(await Mosquitto.start());
  }

  get ports(): Ports {
    return { mqtt: this.#mosquitto.port };
  }

  get processIds(): readonly number[] {
    return [this.#mosquitto.processId];
  }

  logBytes = (): number => this.#mosquitto.lines.reduce((sum, line) => sum + line.length + 1, 0);

  faults = (): readonly string[] => [];

  async arms(devices: number, tokens = 0): Promise<Arms> {
    return {
      devices: logins('hostile', devices),
      tokens: logins('hostile-viewer', tokens),
      filter: 'devices/#',
      texts: {},
    };
  }

  async ward(areSubscribersShared: boolean) {
    return {
      devices: logins('victim', DEVICES),
      alarmsPerSecond: ALARMS_PER_SECOND,
      topic: areSubscribersShared ? 'devices/{device}/alarms' : 'ward/{device}/alarms',
      live: login('live'),
      durable: login('durable'),
      filter: areSubscribersShared ? 'devices/+/alarms' : 'ward/+/alarms',
      newcomer: this.newcomer(),
      http: null,
    };
  }

  newcomer(): Login {
    return login('newcomer');
  }

  httpUrl(): never {
    throw new Error('Mosquitto has no HTTP here');
  }

  upstreamPort(): never {
    throw new Error('Mosquitto has no bridge here');
  }

  ended(): string | undefined {
    return this.#mosquitto.isRunning ? undefined : 'Mosquitto has ended';
  }

  remove(): Promise<void> {
    return this.#mosquitto.remove();
  }
}

function logins(name: string, count: number): Login[] {
  return Array.from({ length: count }, (_, index) => login(`${name}-${index}`));
}

function login(name: string): Login {
  return { clientId: name, username: name, password: 'unchecked' };
}
