import { formatTime } from '../domain/time.js';
import type { Actor } from './audit-trail.js';
import type { QueueFigures } from './queue-figures.js';

/** Status of a bridge, for HTTP and MQTT. */
export interface BridgeStatus extends QueueFigures {
  readonly name: string;
  /** Null while the bridge is missing from the configuration. */
  readonly url: string | null;
  /** Refusing: it has refused an alarm, and taken none since. */
  readonly state: 'delivering' | 'failing' | 'refusing';
  readonly connected: boolean;
  readonly connectedSinceMs: number | null;
  /** When the upstream last acknowledged a message. */
  readonly lastAcknowledgedAtMs: number | null;
  /** The last failure, even if it is over. */
  readonly lastError: BridgeError | null;
}

export interface BridgeError {
  readonly atMs: number;
  /** Kind of failure: `unreachable`, `credentials`, `tls`, … */
  readonly kind: string;
  /** The failure in the words of the upstream or the network. */
  readonly detail: string;
}

/** A message that the upstream never takes. */
export interface DeadLetter {
  readonly atMs: number;
  /** The forwarded topic. */
  readonly topic: string;
  /** The upstream's reason, for example `Packet too large`. */
  readonly reason: string;
  readonly payload: Buffer;
}

/** Keeps the newest dead letters of each bridge. */
export interface DeadLetterStore {
  /** @throws GatewayError `store-unavailable` */
  add(bridge: string, message: DeadLetter): Promise<void>;
  /** Lists them, the newest first. @throws GatewayError `store-unavailable` */
  list(bridge: string): Promise<DeadLetter[]>;
  /**
   * The oldest readable one, and what removes it; undefined when there is none.
   *
   * @throws GatewayError `store-unavailable`, as does `remove`
   */
  oldest(bridge: string): Promise<{ letter: DeadLetter; remove: () => Promise<void> } | undefined>;
  /** Deletes the dead letters of a deleted bridge. @throws GatewayError `store-unavailable` */
  clear(bridge: string): Promise<void>;
}

/** The configured bridges, and those that are missing from the configuration but still have a queue. */
export interface BridgeList {
  /** Lists them in the order of the configuration, the missing ones last. */
  statuses(): Promise<BridgeStatus[]>;
  has(name: string): boolean;
  /** Deletes the queue of a missing bridge. @throws GatewayError `bridge-configured` for any other */
  delete(actor: Actor, name: string): Promise<void>;
}

/** Formats a bridge's status as HTTP and MQTT show it, with times as text. */
export function describeBridge(status: BridgeStatus) {
  const { name, url, state, connected, queued, delivered, dropped, lastError } = status;
  return {
    name,
    url,
    state,
    connected,
    connectedSince: timeOrNull(status.connectedSinceMs),
    lastAcknowledgedAt: timeOrNull(status.lastAcknowledgedAtMs),
    queued,
    oldestQueuedAt: timeOrNull(status.oldestQueuedAtMs),
    delivered,
    dropped,
    lastError: lastError && {
      at: formatTime(lastError.atMs),
      kind: lastError.kind,
      detail: lastError.detail,
    },
  };
}

function timeOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : formatTime(timeMs);
}
