/** Whether a release of Node.js still gets fixes. */
import { type FaultReport, fault } from './fault.js';

/** When Node.js ends the support of its LTS releases (nodejs.org/en/about/previous-releases). */
const SUPPORTED_UNTIL: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
};

/**
 * The fault of a runtime that no longer gets fixes; undefined for any other.
 *
 * @param version as in `process.version`
 */
export function runtimeFault(version: string, nowMs: number): FaultReport | undefined {
  const [, major = ''] = /^v(\d+)\./.exec(version) ?? [];
  const since = SUPPORTED_UNTIL[major];
  if (since === undefined || nowMs < Date.parse(`${since}T24:00Z`)) return undefined;
  return fault('runtimeUnsupported', { version, since });
}
