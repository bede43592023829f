import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Private addresses (RFC 1918) that nothing else on a machine is likely to have. */
const PREFIX = '10.213';
const HOST = `${PREFIX}.0.1`;
const PER_OCTET = 250;

/** A command that starts a program in its own network. */
export const ISOLATED: readonly string[] = ['unshare', '--net', '--'];

/** Whether the run has its own network namespace (scripts/hostile.mjs). */
export const HAS_NAMESPACE = process.env['HOSTILE_NAMESPACE'] === 'own';

export interface Network {
  /** The target's address as the attacker sees it. */
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * Connects a process in its own network with this process, from this many addresses.
 *
 * The two ends of the connection disappear with the process.
 */
export async function connectNetwork(processId: number, count: number): Promise<Network> {
  const addresses = Array.from({ length: count }, (_, index) => {
    const [third, fourth] = [1 + Math.floor(index / PER_OCTET), 1 + (index % PER_OCTET)];
    return `${PREFIX}.${third}.${fourth}`;
  });
  const [near, far] = ['hostile0', 'hostile1'];
  await run('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', far]);
  await run('ip', ['link', 'set', far, 'netns', String(processId)]);
  await run('ip', ['address', 'add', `${HOST}/16`, 'dev', near]);
  await run('ip', ['link', 'set', near, 'up']);
  const lines = addresses.map((address) => `address add ${address}/16 dev ${far}`);
  const script = [...lines, `link set ${far} up`, 'link set lo up'].join('\n');
  const inside = run('nsenter', ['-t', String(processId), '-n', 'ip', '-batch', '-']);
  inside.child.stdin?.end(`${script}\n`);
  await inside;
  return { host: HOST, addresses };
}
