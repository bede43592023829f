import type { AuditAction, AuditEntry } from './audit-trail.js';
import { GATEWAY_ACTOR } from './audit-trail.js';

/** By its name, what tells how a bridge is configured from how it was, and nothing else of it. */
export type BridgeFingerprints = ReadonlyMap<string, string>;

/**
 * What the audit trail says of a changed list of bridges, by name only: credentials and URLs stay in
 * the file.
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
