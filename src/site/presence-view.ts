/** Whether a device is connected right now, and when it last was. */
export interface DevicePresence {
  readonly online: boolean;
  /** Null for a device that has never been connected. */
  readonly lastSeenAtMs: number | null;
}

/** What is known of the devices' connections; read from memory. */
export interface PresenceView {
  of(deviceId: string): DevicePresence;
}
