import { randomUUID } from 'node:crypto';
import type { Login } from '../../../../test/harness/load/plan.js';
import type { Cleanups } from '../cleanups.js';

/** Where the load publishes, and where its subscribers subscribe. */
export interface Channel {
  /** A device's topic, `{device}` being its user name. */
  readonly publish: string;
  readonly filter: string;
}

export interface Broker {
  readonly port: number;
  readonly devices: readonly Login[];
  readonly falls: Channel;
  readonly telemetry: Channel;
  /** Of the broker itself first, then of all that it needs besides. */
  readonly processIds: readonly number[];
  subscriber(clientId: string): Login;
}

export interface RestartableBroker extends Broker {
  /** Kills the broker's own process and starts it again on its port. */
  restart(): Promise<void>;
}

/** A broker that is compared, with everything it needs, as processes of its own. */
export interface Contestant<B extends Broker = Broker> {
  readonly name: string;
  /** Starts the broker with one care home of so many devices, and nothing else in it. */
  start(devices: number, cleanups: Cleanups): Promise<B>;
}

/** A care home at a broker that knows nothing of care homes, and admits anybody. */
export interface PlainHome extends Pick<Broker, 'devices' | 'falls' | 'telemetry' | 'subscriber'> {
  readonly locationId: string;
}

/** Devices publish unchanged to the topics on which the gateway forwards. */
export function plainHome(count: number): PlainHome {
  const locationId = randomUUID();
  const topics = `care-homes/${locationId}/devices`;
  const login = (clientId: string) => ({ clientId, username: clientId, password: 'password' });
  return {
    locationId,
    devices: Array.from({ length: count }, () => login(randomUUID())),
    falls: {
      publish: `${topics}/{device}/alarms/fall`,
      filter: `${topics}/+/alarms/#`,
    },
    telemetry: { publish: `${topics}/{device}/load`, filter: `${topics}/+/load` },
    subscriber: login,
  };
}
