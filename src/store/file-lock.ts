import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { GatewayError } from '../errors.js';

/**
 * Programs that lock the open file they inherit as descriptor 3, or end with status 1 at once when
 * another holds it. `flock` is on every Linux system; macOS has `perl`.
 */
const LOCKERS = [
  { program: 'flock', args: ['-n', '3'] },
  { program: 'perl', args: ['-e', 'open(F, "+<&=3") or exit 2; exit(flock(F, 6) ? 0 : 1)'] },
];

/**
 * Locks a file, which is created if need be: its descriptor, or undefined when another holds it.
 *
 * The kernel keeps such a lock with the open file and not with the process, so the helper's lock is
 * ours, and that of every process the descriptor is handed to. It goes with the last of them,
 * however that one ends: a lock is never stale, and no process id has to be believed.
 */
export function lockFile(path: string): number | undefined {
  const descriptor = openSync(path, 'a+', 0o600);
  try {
    if (lockDescriptor(descriptor)) return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  closeSync(descriptor);
  return undefined;
}

function lockDescriptor(descriptor: number): boolean {
  for (const { program, args } of LOCKERS) {
    const result = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'ignore', descriptor] });
    if (result.status === 0) return true;
    if (result.status === 1) return false;
  }
  throw new GatewayError(
    'start-failed',
    'a file cannot be locked here: install flock (package util-linux) or perl',
  );
}
