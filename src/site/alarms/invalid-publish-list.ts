/** An invalid publish in the list (contract 3). */
export interface InvalidPublishRecord {
  readonly deviceId: string;
  /** The group that the device was in. */
  readonly groupId: string | null;
  readonly reason: string;
  readonly topic: string;
  /** The payload, or as much of it as is kept. */
  readonly base64: string;
  readonly receivedAtMs: number;
}

/** The bounded list of invalid publishes of each location (contract 5). */
export interface InvalidPublishList {
  /**
   * Lists a location's invalid publishes, newest first.
   *
   * @throws GatewayError `store-unavailable`
   */
  list(locationId: string): Promise<InvalidPublishRecord[]>;
}
