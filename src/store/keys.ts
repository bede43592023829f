/**
 * Every key of the store, all under one hash-tagged prefix per site, so that a site lies on one slot
 * of a Redis Cluster and many sites share a store without touching each other.
 */
export class Keys {
  readonly #prefix: string;

  constructor(site: string) {
    this.#prefix = `{${site}}:`;
  }

  /** Prefix of every key of the site. */
  get sitePrefix(): string {
    return this.#prefix;
  }

  /** For the connection of aedes-persistence-redis, whose own key names know no prefix. */
  get brokerPrefix(): string {
    return `${this.#prefix}broker:`;
  }

  get locations(): string {
    return this.#key('locations');
  }

  get groups(): string {
    return this.#key('groups');
  }

  get rooms(): string {
    return this.#key('rooms');
  }

  get devices(): string {
    return this.#key('devices');
  }

  get accessTokens(): string {
    return this.#key('access-tokens');
  }

  location(id: string): string {
    return this.#key('location', id);
  }

  locationDevices(id: string): string {
    return this.#key('location-devices', id);
  }

  locationRooms(id: string): string {
    return this.#key('location-rooms', id);
  }

  locationGroups(id: string): string {
    return this.#key('location-groups', id);
  }

  group(id: string): string {
    return this.#key('group', id);
  }

  groupRooms(id: string): string {
    return this.#key('group-rooms', id);
  }

  room(id: string): string {
    return this.#key('room', id);
  }

  roomDevices(id: string): string {
    return this.#key('room-devices', id);
  }

  device(id: string): string {
    return this.#key('device', id);
  }

  accessToken(id: string): string {
    return this.#key('access-token', id);
  }

  /** Hash: device id → milliseconds since 1970. */
  get lastSeen(): string {
    return this.#key('last-seen');
  }

  /** Hash: the steady clock, and what is known of the wall clock. */
  get clock(): string {
    return this.#key('clock');
  }

  /** The counter behind the entries of a log. */
  logSequence(log: string): string {
    return this.#key('sequence', log);
  }

  /** Which store this is: tells it from one that was emptied or put in its place. */
  get identity(): string {
    return this.#key('identity');
  }

  /** Stream: the messages that are no alarms. */
  get messageLog(): string {
    return this.#key('log', 'messages');
  }

  /** Stream: the alarm log, which is the history. */
  get history(): string {
    return this.#key('history');
  }

  /** Stream: the alarms that version 1 had queued, under the sequences of the history. */
  get version1Backlog(): string {
    return this.#key('log', 'alarms');
  }

  /** The number of the layout in which everything here is kept; absent: version 1. */
  get layout(): string {
    return this.#key('layout');
  }

  /**
   * Sorted set: one kind's alarms of a location, or of one device in it, that happened in one group or
   * in none, by detection time.
   */
  alarmIndex(
    locationId: string,
    deviceId: string | undefined,
    groupId: string | null,
    kind: number,
  ): string {
    return `${this.alarmIndexesOf(locationId, deviceId)}${groupId ?? ''}:${kind}`;
  }

  /** Prefix of every `alarmIndex` of a location, or of one device in it. */
  alarmIndexesOf(locationId: string, deviceId: string | undefined): string {
    const scope = deviceId === undefined ? [locationId] : [locationId, deviceId];
    return this.#key('alarms', ...scope, '');
  }

  /** Prefix of every `alarmIndex`. */
  get alarmIndexPrefix(): string {
    return this.#key('alarms', '');
  }

  /**
   * Hash: group id, '' for none → how many places (`alarmPlace`) a location, or one device in it, has
   * alarms of in that group: the groups that its `alarmIndex`es are of.
   */
  alarmGroups(locationId: string, deviceId: string | undefined): string {
    const scope = deviceId === undefined ? [locationId] : [locationId, deviceId];
    return this.#key('alarm-groups', ...scope);
  }

  /** Prefix of every `alarmGroups`. */
  get alarmGroupsPrefix(): string {
    return this.#key('alarm-groups', '');
  }

  /** Hash: where a device was and its custom data, and how many alarms refer to it. */
  alarmPlace(digest: string): string {
    return this.alarmPlacePrefix + digest;
  }

  /** Prefix of every `alarmPlace`. */
  get alarmPlacePrefix(): string {
    return this.#key('alarm-place', '');
  }

  /** Hash: digest of device and alarm id → sequence number; a piece of all there are (alarm-ids.ts). */
  alarmIds(piece: number): string {
    return `${this.alarmIdsPrefix}${piece}`;
  }

  /** Prefix of every `alarmIds`. */
  get alarmIdsPrefix(): string {
    return this.#key('alarm-ids', '');
  }

  /** Hash: packet identifier → what was last recorded under it, for alarms without a stable id. */
  receipts(deviceId: string): string {
    return this.receiptsPrefix + deviceId;
  }

  /** Prefix of every `receipts`. */
  get receiptsPrefix(): string {
    return this.#key('receipts', '');
  }

  /**
   * Hash: the packet identifiers of QoS 2 publishes that a session has not released, where
   * aedes-persistence-redis has always kept them.
   */
  received(clientId: string): string {
    return this.receivedPrefix + clientId;
  }

  /** Prefix of every `received`. */
  get receivedPrefix(): string {
    return `${this.brokerPrefix}incoming:`;
  }

  get sessions(): string {
    return this.#key('sessions');
  }

  /** Hash: log → the entry up to which every session's backlog has been counted. */
  get countedUpTo(): string {
    return this.#key('counted-up-to');
  }

  session(clientId: string): string {
    return this.#key('session', clientId);
  }

  /** The counter behind the records of the audit trail. */
  get auditSequence(): string {
    return this.#key('sequence', 'audit');
  }

  /** Sorted set: numbers that the audit trail had come to, by steady time. */
  get auditMarks(): string {
    return this.#key('audit-marks');
  }

  /** Sorted set: the audit trail's records of one action, by time. */
  audit(action: string): string {
    return this.#key('audit', action);
  }

  rejected(locationId: string): string {
    return this.#key('rejected', locationId);
  }

  /** Hash: bridge → fingerprint of how it was configured when this was last written down. */
  get bridges(): string {
    return this.#key('bridges');
  }

  /** List: a bridge's dead letters, the newest first. The key's name is that of older versions. */
  deadLetters(bridge: string): string {
    return this.#key('set-aside', bridge);
  }

  #key(...parts: readonly string[]): string {
    return this.#prefix + parts.join(':');
  }
}
