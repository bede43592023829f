import type { Login } from '../../test/harness/load/plan.js';
import type { Arms, Ports } from './attacker/plan.js';
import type { WardPlan } from './ward/plan.js';

export type Peer = 'gateway' | 'mosquitto';

/** A running broker with the victims' home and the attacker's. */
export interface Site {
  readonly peer: Peer;
  readonly ports: Ports;
  /** Processes whose memory and descriptors are watched: the broker, then its store. */
  readonly processIds: readonly number[];
  /** What the broker has logged so far. */
  readonly logBytes: () => number;
  /** Every fault that was ever in `gateway/status`. */
  readonly faults: () => readonly string[];
  /** Devices, tokens and addresses of the attacker, as a fault may name them. */
  readonly attackerNames: Set<string>;
  /** Creates what an attacker has: credentials in a home of its own. */
  arms(devices: number, tokens?: number): Promise<Arms>;
  ward(areSubscribersShared: boolean): Promise<Omit<WardPlan, 'host' | 'port'>>;
  /** The victims' newcomer, once there is a ward. */
  newcomer(): Login;
  /** The most file descriptors that the broker may open, where that is limited further. */
  readonly maxOpenFiles: number | undefined;
  httpUrl(): string;
  /** Where a bridge of the gateway connects to. */
  upstreamPort(): number;
  /** Undefined while everything runs that was started; otherwise what does not. */
  ended(): string | undefined;
  remove(): Promise<void>;
}

/** The login of a client of its own with the credential of another. */
export function asClient(login: Login, clientId: string): Login {
  return { ...login, clientId };
}
