import type { RecordKind } from '../domain/site.js';

/** The names of a site's keys in the store, as far as commands outside of scripts use them. */
export type Keys = ReturnType<typeof keysOf>;

/**
 * Names the keys of a site, under one hash-tagged prefix.
 *
 * The tag puts a site into one slot of a Redis Cluster. The prefix separates the sites of a shared store. Scripts name
 * keys themselves, below the same prefix.
 */
export function keysOf(site: string) {
  const sitePrefix = `{${site}}:`;
  const key = (...parts: readonly string[]) => sitePrefix + parts.join(':');
  /** Of aedes-persistence-redis, whose own names do not include a site. */
  const brokerPrefix = key('broker', '');
  return {
    sitePrefix,
    brokerPrefix,
    /** String: written to check whether replicas confirm it (replica-link.ts). */
    replicaMark: key('replica-mark'),
    /** The number of the store's layout. */
    layout: key('layout'),
    /** The store's identity, which distinguishes it from an emptied or replaced one. */
    identity: key('identity'),
    /** Hash: both clocks as last seen. */
    clock: key('clock'),

    /** Hash: id → record of the site, as JSON. */
    siteRecords: (kind: RecordKind) => key('site', kind),
    /** The counter of the site's changes. */
    siteRevision: key('sequence', 'site'),
    /** Hash: device id → when it was last heard, and whether it is online (site/kept.ts). */
    lastSeen: key('last-seen'),
    /** Hash: id of an access token → when it was last used, in milliseconds since 1970. */
    tokenUse: key('token-use'),
    /** Hash: device → JSON: silent or heard again; only for devices that have ever been silent. */
    supervision: key('supervision'),
    /** Hash of aedes-persistence-redis: topic → retained message. */
    retained: `${brokerPrefix}retained`,

    /** Stream: alarms, changes of their states, events of the gateway, commands. */
    history: key('history'),
    /** The counter that numbers the entries of the history. */
    historySequence: key('sequence', 'history'),
    /** Hash, in pieces: digest of an alarm's id and its device → its states, as JSON. */
    alarmStates: (piece: number) => key('alarm-states', String(piece)),
    /** Sorted set, by detection time: the alarms of a kind in a location that are not resolved. */
    openAlarms: (locationId: string, kind: number) => key('open-alarms', locationId, String(kind)),
    /** Sorted set, by the steady clock: alarms and the names of escalations that may become due. */
    escalationsDue: key('escalations-due'),
    /** List: the newest drills of a location. */
    drills: (locationId: string) => key('drills', locationId),
    /** List: the newest invalid publishes of a location. */
    rejected: (locationId: string) => key('rejected', locationId),

    /** Set: the keys of all sessions (`sessionKey`). */
    sessions: key('sessions'),
    /** Hash: the record of a session, and its account. */
    session: (session: string) => key('session', session),
    /** List: the numbers of the entries of the history that a session gets, oldest first. */
    queue: (session: string) => key('queue', session),
    /** List: a bridge's dead letters, newest first. */
    deadLetters: (bridge: string) => key('dead-letters', bridge),

    /** The counter that numbers the records of the audit trail. */
    auditSequence: key('sequence', 'audit'),
    /** Streams: the audit trail's records of changes and of denials, under their numbers. */
    auditChanges: key('audit', 'changes'),
    auditDenials: key('audit', 'denials'),
  };
}
