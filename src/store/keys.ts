import type { RecordKind } from '../domain/site.js';

/**
 * Every key of the store, under one hash-tagged prefix per site.
 *
 * The tag puts a site into one slot of a Redis Cluster. The prefix separates the sites of a shared store.
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

  /** Never exists (store.ts). */
  get absent(): string {
    return this.#key('absent');
  }

  /** String: written to check whether replicas confirm it (replica-link.ts). */
  get replicaMark(): string {
    return this.#key('replica-mark');
  }

  /** Prefix of the keys of aedes-persistence-redis, whose own names do not include a site. */
  get brokerPrefix(): string {
    return `${this.#prefix}broker:`;
  }

  /** Hash of aedes-persistence-redis: topic → retained message. */
  get retained(): string {
    return `${this.brokerPrefix}retained`;
  }

  /** Hash: which gateway serves the site (lease.ts). */
  get lease(): string {
    return this.#key('lease');
  }

  /** Hash: id → record of the site, as JSON (site-records.ts). */
  siteRecords(kind: RecordKind): string {
    return this.#key('site', kind);
  }

  /** The counter of the site's changes. */
  get siteRevision(): string {
    return this.#key('sequence', 'site');
  }

  /** Hash: device id → when it was last heard, and whether it is online (site/presence-store-redis.ts). */
  get lastSeen(): string {
    return this.#key('last-seen');
  }

  /** Hash: id of an access token → when it was last used, in milliseconds since 1970. */
  get tokenUse(): string {
    return this.#key('token-use');
  }

  /** Hash: device → JSON: silent or heard again; only for devices that have ever been silent. */
  get supervision(): string {
    return this.#key('supervision');
  }

  /** List: the newest drills of a location. */
  drills(locationId: string): string {
    return this.#key('drills', locationId);
  }

  /** Prefix of the proofs of what became of alarms, a hundred alarms per piece (shared/proofs.lua). */
  get proofPrefix(): string {
    return this.#key('proofs', '');
  }

  /** Hash: name of a destination → its number in the proofs. */
  get destinationNumbers(): string {
    return this.#key('destination-numbers');
  }

  /** Sorted set, by the steady clock: sequence of an alarm and name of an escalation that may become due. */
  get escalationsDue(): string {
    return this.#key('escalations', 'due');
  }

  /** Sorted set: the newest escalations made, by their sequence. */
  get escalationsMade(): string {
    return this.#key('escalations', 'made');
  }

  /** Hash: the steady clock, and the state of the wall clock. */
  get clock(): string {
    return this.#key('clock');
  }

  /** The counter that numbers the entries of a log. */
  logSequence(log: string): string {
    return this.#key('sequence', log);
  }

  /** The store's identity, which distinguishes it from an emptied or replaced one. */
  get identity(): string {
    return this.#key('identity');
  }

  /** Stream: the history of alarms and of changes to their states. */
  get history(): string {
    return this.#key('history');
  }

  /** The number of the store's layout (layout.ts). */
  get layout(): string {
    return this.#key('layout');
  }

  /** Sorted set, by detection time: the alarms of a device in a location. */
  deviceAlarms(locationId: string, deviceId: string): string {
    return this.#key('alarms', locationId, deviceId);
  }

  /**
   * Prefix of the indexes of a location: sorted sets, by detection time, of the alarms of one kind in one group or
   * in none, named `<group>:<kind>`.
   */
  alarmIndexesOf(locationId: string): string {
    return this.#key('alarms', locationId, '');
  }

  /** Prefix of every index. */
  get alarmIndexPrefix(): string {
    return this.#key('alarms', '');
  }

  /**
   * Prefix of the open alarms of a location: sorted sets like those of `alarmIndexesOf`, without resolved
   * alarms.
   */
  openAlarmIndexesOf(locationId: string): string {
    return `${this.openAlarmIndexPrefix}${locationId}:`;
  }

  /** Prefix of every index of open alarms. */
  get openAlarmIndexPrefix(): string {
    return this.#key('open-alarms', '');
  }

  /** Set: the groups, '' for none, in which a location has alarms. */
  alarmGroups(locationId: string): string {
    return this.alarmGroupsPrefix + locationId;
  }

  /** Prefix of every `alarmGroups`. */
  get alarmGroupsPrefix(): string {
    return this.#key('alarm-groups', '');
  }

  /** Hash: digest of an id → sequences of the alarms with it; one of many pieces (alarm-records.ts). */
  alarmIds(piece: number): string {
    return `${this.alarmIdsPrefix}${piece}`;
  }

  /** Prefix of every `alarmIds`. */
  get alarmIdsPrefix(): string {
    return this.#key('alarm-ids', '');
  }

  /** Prefix of the hashes of states, in pieces: sequence of an alarm → its states (change-alarm-state.lua). */
  get alarmStatesPrefix(): string {
    return this.#key('alarm-states', '');
  }

  /** Hash: packet identifier → last alarm recorded under it, for alarms without a stable id. */
  receipts(deviceId: string): string {
    return this.receiptsPrefix + deviceId;
  }

  /** Prefix of every `receipts`. */
  get receiptsPrefix(): string {
    return this.#key('receipts', '');
  }

  /** Hash: packet identifiers of QoS 2 publishes that a session has not released. */
  received(session: string): string {
    return this.receivedPrefix + session;
  }

  /** Prefix of every `received`. */
  get receivedPrefix(): string {
    return `${this.brokerPrefix}incoming:`;
  }

  /** Set: the keys of all sessions (`sessionKey`). */
  get sessions(): string {
    return this.#key('sessions');
  }

  /** Hash: the record of a session, and its account. */
  session(key: string): string {
    return this.sessionPrefix + key;
  }

  /** Prefix of every `session`. */
  get sessionPrefix(): string {
    return this.#key('session', '');
  }

  /** List: the entries of the history that a session gets, as items (shared/queues.lua), oldest first. */
  queue(session: string): string {
    return this.queuePrefix + session;
  }

  /** Prefix of every `queue`. */
  get queuePrefix(): string {
    return this.#key('queue', '');
  }

  /** Stream: the messages other than alarms that a session gets. */
  values(session: string): string {
    return this.valuesPrefix + session;
  }

  /** Prefix of every `values`. */
  get valuesPrefix(): string {
    return this.#key('values', '');
  }

  /** Hash: id and first number of the last batch of messages (append-values.lua). */
  get lastValues(): string {
    return this.#key('last-values');
  }

  /** The counter that numbers the records of the audit trail. */
  get auditSequence(): string {
    return this.#key('sequence', 'audit');
  }

  /** Stream: the audit trail's records of changes, under their numbers. */
  get auditChanges(): string {
    return this.#key('audit', 'changes');
  }

  /** Stream: the audit trail's records of denials, under their numbers. */
  get auditDenials(): string {
    return this.#key('audit', 'denials');
  }

  rejected(locationId: string): string {
    return this.#key('rejected', locationId);
  }

  /** List: a bridge's dead letters, newest first. */
  deadLetters(bridge: string): string {
    return this.#key('dead-letters', bridge);
  }

  #key(...parts: readonly string[]): string {
    return this.#prefix + parts.join(':');
  }
}
