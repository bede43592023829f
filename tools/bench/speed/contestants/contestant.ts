import { randomUUID } from 'node:crypto';
import type { Login } from '../../../../test/harness/load/plan.js';
import type { Cleanups } from '../cleanups.js';

/** Where the load publishes and subscribes. */
export interface Channel {
  /** A device's topic, with `{device}` for its user name. */
  readonly publish: string;
  readonly filter: string;
}

export interface Broker {
  readonly port: number;
  readonly devices: readonly Login[];
  readonly falls: Channel;
  readonly telemetry: Channel;
  /** First that of the broker itself, then those of everything else it needs. */
  readonly processIds: readonly number[];
  subscriber(clientId: string): Login;
}

export interface RestartableBroker extends Broker {
  /** Kills the broker's own process and starts it again on its port. */
  restart(): Promise<void>;
}

/** A broker in the comparison, with everything it needs, in its own processes. */
export interface Contestant<B extends Broker = Broker> {
  readonly name: string;
  /** Starts the broker with one care home with this many devices and nothing else. */
  start(devices: number, cleanups: Cleanups): Promise<B>;
}

/** A care home at a broker that knows nothing of care homes and admits anyone. */
export interface PlainHome extends Pick<Broker, 'devices' | 'falls' | 'telemetry' | 'subscriber'> {
  readonly locationId: string;
}

/** Devices publish directly to the topics on which the gateway forwards. */
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
