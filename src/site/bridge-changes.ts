import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, AuditEntry } from './audit-trail.js';
import { GATEWAY_ACTOR } from './audit-trail.js';

/** What is compared of a bridge: all that is configured of it. */
interface ConfiguredBridge {
  readonly name: string;
}

/**
 * What the audit trail says of a changed list of bridges, by name only: credentials and URLs stay in
 * the file.
 */
export function bridgeChanges(
  before: readonly ConfiguredBridge[],
  after: readonly ConfiguredBridge[],
  atMs: number,
): AuditEntry[] {
  const entry = (action: AuditAction, { name }: ConfiguredBridge): AuditEntry => ({
    ...{ action, actor: GATEWAY_ACTOR, atMs },
    ...{ locationId: null, resourceId: name, details: {} },
  });
  const named = (list: readonly ConfiguredBridge[], name: string) =>
    list.find((bridge) => bridge.name === name);
  const removed = before.filter(({ name }) => named(after, name) === undefined);
  const present = after.flatMap((bridge) => {
    const known = named(before, bridge.name);
    if (known === undefined) return entry('bridge.created', bridge);
    return isDeepStrictEqual(known, bridge) ? [] : entry('bridge.changed', bridge);
  });
  return [...removed.map((bridge) => entry('bridge.removed', bridge)), ...present];
}
