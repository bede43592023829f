import type { RecordKind } from '../domain/site.js';

/** The name of every key of a site in the store. */
export type Keys = ReturnType<typeof keysOf>;

/**
 * Names every key of a site, under one hash-tagged prefix.
 *
 * The tag puts a site into one slot of a Redis Cluster. The prefix separates the sites of a shared store. Where many keys
 * are alike, a script gets their prefix.
 */
export function keysOf(site: string) {
  const sitePrefix = `{${site}}:`;
  const key = (...parts: readonly string[]) => sitePrefix + parts.join(':');
  /** Of aedes-persistence-redis, whose own names do not include a site. */
  const brokerPrefix = key('broker', '');
  const receivedPrefix = `${brokerPrefix}incoming:`;
  const sessionPrefix = key('session', '');
  const queuePrefix = key('queue', '');
  const valuesPrefix = key('values', '');
  const receiptsPrefix = key('receipts', '');
  const alarmIdsPrefix = key('alarm-ids', '');
  const alarmIndexPrefix = key('alarms', '');
  const openAlarmIndexPrefix = key('open-alarms', '');
  const alarmGroupsPrefix = key('alarm-groups', '');
  return {
    sitePrefix,
    brokerPrefix,
    /** Never exists (store.ts). */
    absent: key('absent'),
    /** String: written to check whether replicas confirm it (replica-link.ts). */
    replicaMark: key('replica-mark'),
    /** Hash: which gateway serves the site (lease.ts). */
    lease: key('lease'),
    /** The number of the store's layout (layout.ts). */
    layout: key('layout'),
    /** The store's identity, which distinguishes it from an emptied or replaced one. */
    identity: key('identity'),
    /** Hash: the steady clock, and the state of the wall clock. */
    clock: key('clock'),
    /** The counter that numbers the entries of a log. */
    logSequence: (log: string) => key('sequence', log),

    /** Hash: id → record of the site, as JSON (site-records.ts). */
    siteRecords: (kind: RecordKind) => key('site', kind),
    /** The counter of the site's changes. */
    siteRevision: key('sequence', 'site'),
    /** Hash: device id → when it was last heard, and whether it is online (site/times.ts). */
    lastSeen: key('last-seen'),
    /** Hash: id of an access token → when it was last used, in milliseconds since 1970. */
    tokenUse: key('token-use'),
    /** Hash: device → JSON: silent or heard again; only for devices that have ever been silent. */
    supervision: key('supervision'),
    /** Hash of aedes-persistence-redis: topic → retained message. */
    retained: `${brokerPrefix}retained`,

    /** Stream: the history of alarms and of changes to their states. */
    history: key('history'),
    /** Hash: digest of an id → sequences of the alarms with it; one of many pieces (alarm-records.ts). */
    alarmIds: (piece: number) => `${alarmIdsPrefix}${piece}`,
    alarmIdsPrefix,
    /** Hash: packet identifier → last alarm recorded under it, for alarms without a stable id. */
    receipts: (deviceId: string) => receiptsPrefix + deviceId,
    receiptsPrefix,
    /** Of the hashes of states, in pieces: sequence of an alarm → its states (change-alarm-state.lua). */
    alarmStatesPrefix: key('alarm-states', ''),
    /** Sorted set, by detection time: the alarms of a device in a location. */
    deviceAlarms: (locationId: string, deviceId: string) => key('alarms', locationId, deviceId),
    /**
     * Prefix of the indexes of a location: sorted sets, by detection time, of the alarms of one kind in one group or
     * in none, named `<group>:<kind>`.
     */
    alarmIndexesOf: (locationId: string) => `${alarmIndexPrefix}${locationId}:`,
    alarmIndexPrefix,
    /** Prefix of the open alarms of a location: sorted sets like those of `alarmIndexesOf`, without resolved alarms. */
    openAlarmIndexesOf: (locationId: string) => `${openAlarmIndexPrefix}${locationId}:`,
    openAlarmIndexPrefix,
    /** Set: the groups, '' for none, in which a location has alarms. */
    alarmGroups: (locationId: string) => alarmGroupsPrefix + locationId,
    alarmGroupsPrefix,
    /** Of the proofs of what became of alarms, a hundred alarms per piece (shared/proofs.lua). */
    proofPrefix: key('proofs', ''),
    /** Hash: name of a destination → its number in the proofs. */
    destinationNumbers: key('destination-numbers'),
    /** Sorted set, by the steady clock: sequence of an alarm and name of an escalation that may become due. */
    escalationsDue: key('escalations', 'due'),
    /** Sorted set: the newest escalations made, by their sequence. */
    escalationsMade: key('escalations', 'made'),
    /** List: the newest drills of a location. */
    drills: (locationId: string) => key('drills', locationId),
    /** List: the newest invalid publishes of a location. */
    rejected: (locationId: string) => key('rejected', locationId),

    /** Set: the keys of all sessions (`sessionKey`). */
    sessions: key('sessions'),
    /** Hash: the record of a session, and its account. */
    session: (session: string) => sessionPrefix + session,
    sessionPrefix,
    /** Hash: packet identifiers of QoS 2 publishes that a session has not released. */
    received: (session: string) => receivedPrefix + session,
    receivedPrefix,
    /** List: the entries of the history that a session gets, as items (shared/queues.lua), oldest first. */
    queue: (session: string) => queuePrefix + session,
    queuePrefix,
    /** Stream: the messages other than alarms that a session gets. */
    values: (session: string) => valuesPrefix + session,
    valuesPrefix,
    /** Hash: id and first number of the last batch of messages (append-values.lua). */
    lastValues: key('last-values'),
    /** List: a bridge's dead letters, newest first. */
    deadLetters: (bridge: string) => key('dead-letters', bridge),

    /** The counter that numbers the records of the audit trail. */
    auditSequence: key('sequence', 'audit'),
    /** Streams: the audit trail's records of changes and of denials, under their numbers. */
    auditChanges: key('audit', 'changes'),
    auditDenials: key('audit', 'denials'),
  };
}
