import { type AuditAction, type AuditEntry, GATEWAY_ACTOR } from './audit-trail.js';

/** Name of a bridge → digest of its configuration, which reveals only changes. */
export type BridgeFingerprints = ReadonlyMap<string, string>;

/**
 * Audit entries of a changed list of bridges, by name only: credentials and URLs stay in the file.
 */
export function bridgeChanges(
  before: BridgeFingerprints,
  after: BridgeFingerprints,
  atMs: number,
): AuditEntry[] {
  const entry = (action: AuditAction, name: string): AuditEntry => ({
    ...{ action, actor: GATEWAY_ACTOR, atMs },
    ...{ locationId: null, resourceId: name, details: {} },
  });
  const removed = [...before.keys()].filter((name) => !after.has(name));
  const present = [...after].flatMap(([name, fingerprint]) => {
    const known = before.get(name);
    if (known === undefined) return entry('bridge.created', name);
    return known === fingerprint ? [] : entry('bridge.changed', name);
  });
  return [...removed.map((name) => entry('bridge.removed', name)), ...present];
}
