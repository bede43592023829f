import type { Login } from '../../test/harness/load/plan.js';
import type { Arms, Ports } from './attacker/plan.js';
import type { WardPlan } from './ward/plan.js';

export type Peer = 'gateway' | 'mosquitto';

/** A running broker with the victims' home and the attacker's. */
export interface Site {
  readonly peer: Peer;
  readonly ports: Ports;
  /** The processes whose memory and descriptors to measure: the broker, then its store. */
  readonly processIds: readonly number[];
  /** How much the broker has logged so far. */
  readonly logBytes: () => number;
  /** Every fault that was ever in `gateway/status`. */
  readonly faults: () => readonly string[];
  /** Devices, tokens and addresses of the attacker, as faults may name them. */
  readonly attackerNames: Set<string>;
  /** Creates what an attacker has: credentials in its own home. */
  arms(devices: number, tokens?: number): Promise<Arms>;
  ward(areSubscribersShared: boolean): Promise<Omit<WardPlan, 'host' | 'port'>>;
  /** The victims' newcomer, once there is a ward. */
  newcomer(): Login;
  /** The most file descriptors that the broker may open, if further limited. */
  readonly maxOpenFiles: number | undefined;
  httpUrl(): string;
  /** Where a bridge of the gateway connects to. */
  upstreamPort(): number;
  /** Names a process that has ended; undefined while all of them run. */
  ended(): string | undefined;
  remove(): Promise<void>;
}

/** The login of a different client with the same credential. */
export function asClient(login: Login, clientId: string): Login {
  return { ...login, clientId };
}
