import type { BridgeSelection } from '../domain/bridge-topics.js';

/** One bridge as it is configured. */
export interface BridgeOptions extends BridgeSelection {
  readonly name: string;
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM files. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** The name in the upstream's certificate, where it is not that of the URL. */
  readonly serverName?: string | undefined;
  readonly clientId?: string | undefined;
  readonly keepAliveSeconds: number;
  /** Undefined: MQTT 5, and 3.1.1 where the upstream does not speak 5. */
  readonly protocol?: '3.1.1' | 5 | undefined;
  /** A template (`parseBridgeTopic`). */
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly maxInFlight: number;
  readonly maxQueuedMessages: number;
  readonly maxQueuedBytes: number;
  readonly maxQueuedHours: number;
  readonly replayPerSecond: number;
  readonly ackTimeoutSeconds: number;
  /** Filters to subscribe to upstream, for commands to devices. */
  readonly commands: readonly string[];
}
