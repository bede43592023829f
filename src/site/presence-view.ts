/** Whether a device is connected, and when it last was. */
export interface DevicePresence {
  readonly online: boolean;
  /** Null for a device that has never been connected. */
  readonly lastSeenAtMs: number | null;
}

/** Presence of the devices, from memory. */
export interface PresenceView {
  of(deviceId: string): DevicePresence;
}
