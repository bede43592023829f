/** When the project of Node.js stops mending its releases with long-term support (nodejs.org/en/about/previous-releases). */
const SUPPORTED_UNTIL: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
};

/**
 * What to say of a runtime whose faults nobody mends any more; undefined for any other.
 *
 * @param version as in `process.version`
 */
export function runtimeWarning(version: string, nowMs: number): string | undefined {
  const [, major = ''] = /^v(\d+)\./.exec(version) ?? [];
  const until = SUPPORTED_UNTIL[major];
  if (until === undefined || nowMs < Date.parse(`${until}T24:00Z`)) return undefined;
  return `Node.js ${version} has had no security fixes since ${until}: install a supported release`;
}
