import { totalmem } from 'node:os';

const MIB = 1024 * 1024;
/** The most that the gateway itself needs, with all of its bounds together. */
const GATEWAY_BYTES = 256 * MIB;
const MIN_STORE_BYTES = 64 * MIB;

/**
 * The embedded store's memory limit if the configuration has none: half of what the gateway leaves.
 *
 * The other half is for rewriting the append-only file: the server forks for this, and every page written
 * meanwhile exists twice.
 *
 * @param machineBytes the memory of the machine or of its cgroup, whichever is less
 */
export function defaultMaxMemoryBytes(machineBytes: number = availableBytes()): number {
  return Math.max(MIN_STORE_BYTES, Math.floor((machineBytes - GATEWAY_BYTES) / 2));
}

/** The smaller of the machine's memory and the limit of its cgroup, version 1 or 2. */
function availableBytes(): number {
  // 0 or undefined without a cgroup, 2^64 if it has no limit.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
