/** The prefix of shared subscriptions. */
export const SHARE_PREFIX = '$share/';

/** A shared subscription: each message goes to one member of the group. */
export interface SharedFilter {
  readonly group: string;
  readonly filter: string;
}

/**
 * Parses `$share/<group>/<filter>` (MQTT 5, 4.8.2).
 *
 * @returns undefined for any other filter, and if the group or filter is missing, or the group has wildcards
 */
export function parseSharedFilter(filter: string): SharedFilter | undefined {
  const [, group, shared] = /^\$share\/([^/+#]+)\/(.+)$/s.exec(filter) ?? [];
  return group === undefined || shared === undefined ? undefined : { group, filter: shared };
}
