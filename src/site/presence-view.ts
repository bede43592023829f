import type { Named } from '../domain/messages.js';

/** Whether a device is online, and when it was last heard. */
export interface DevicePresence {
  readonly online: boolean;
  /** Null for a device that has never been connected. */
  readonly lastSeenAtMs: number | null;
  /** The access token of the hub through which it was last heard; undefined: it connects itself. */
  readonly via: Named | undefined;
}

/** Presence of the devices, from memory. */
export interface PresenceView {
  of(deviceId: string): DevicePresence;
}
