import type { Attack } from './attack.js';
import { MAX_P99_MS } from './figures.js';
import type { Result } from './result.js';

const MIB = 1024 * 1024;
/** For the gateway and for its store. */
const MAX_RESIDENT_BYTES = [512 * MIB, 512 * MIB];
const MAX_DESCRIPTORS = 12_000;
const MAX_LOGGED_BYTES = 256 * 1024;

/** How the attack harmed others more than it may; empty if it did not. */
export function missesOf(
  result: Omit<Result, 'misses'>,
  attack: Attack | undefined,
  maxOpenFiles: number | undefined,
): string[] {
  const { lost, unacknowledged, p99Ms, newcomers, requests, peer } = result;
  const maxP99Ms = MAX_P99_MS[result.surface];
  const misses: string[] = [];
  const miss = (isMissed: boolean, text: string) => {
    if (isMissed) misses.push(text);
  };
  miss(lost > 0, `${lost} alarms lost`);
  miss(unacknowledged > 0, `${unacknowledged} alarms never acknowledged`);
  // Without any delivery there is no p99.
  miss(!(p99Ms < maxP99Ms), `p99 ${Math.round(p99Ms)} ms, at most ${maxP99Ms}`);
  miss(newcomers.failed > 0, `${newcomers.failed} newcomers not served: ${newcomers.failure}`);
  miss(requests.failed > 0, `${requests.failed} requests failed: ${requests.failure}`);
  for (const [index, bytes] of result.maxResidentBytes.entries()) {
    const max = MAX_RESIDENT_BYTES[index] ?? Number.POSITIVE_INFINITY;
    const name = index === 0 ? 'broker' : 'store';
    miss(bytes > max, `${name} ${Math.round(bytes / MIB)} MiB, at most ${max / MIB}`);
  }
  const descriptors = Math.max(...result.maxDescriptors);
  const maxDescriptors = Math.min(MAX_DESCRIPTORS, (maxOpenFiles ?? Infinity) - 1);
  miss(descriptors > maxDescriptors, `${descriptors} descriptors, at most ${maxDescriptors}`);
  const { loggedBytes, namedBy } = result;
  miss(loggedBytes > MAX_LOGGED_BYTES, `${Math.round(loggedBytes / 1024)} KiB of log`);
  const mustBeNamed = attack !== undefined && !attack.isUnnamed && peer === 'gateway';
  miss(mustBeNamed && namedBy === undefined, 'attacker not named');
  return misses;
}
