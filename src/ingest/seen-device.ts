/** A device's connection. */
export interface DeviceConnection {
  /** Milliseconds since the device was last heard. */
  readonly silentMs: number;
}

/** What is known about a device that was heard. */
export interface Seen {
  readonly connections: Set<DeviceConnection>;
  /** When the device was last heard through a hub, or over a connection that has ended. */
  lastSeenAtMs: number;
  /** The same by `SteadyClock.runningNow`, or when this gateway began to listen. */
  heardAtMs: number;
  /** The token of the hub through which it was last heard; undefined: it has connected itself. */
  hubId: string | undefined;
  /** Whether it is online through that hub. */
  isThroughHub: boolean;
  /** When the device was last announced online or offline; 0: never. */
  sinceMs: number;
}

export function newSeen(): Seen {
  const times = { lastSeenAtMs: 0, heardAtMs: 0, sinceMs: 0 };
  return { connections: new Set(), hubId: undefined, isThroughHub: false, ...times };
}

/** Whether the device is connected, itself or through its hub. */
export function isOnline({ connections, isThroughHub }: Seen): boolean {
  return isThroughHub || connections.size > 0;
}

/** Milliseconds since the last packet on any of the connections; infinite without a connection. */
export function leastSilentMs(connections: ReadonlySet<DeviceConnection>): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (const { silentMs } of connections) leastMs = Math.min(leastMs, silentMs);
  return leastMs;
}
