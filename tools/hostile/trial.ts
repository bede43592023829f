import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { CalledProgram, compile } from '../../test/harness/load/calls.js';
import { until } from '../../test/harness/wait.js';
import { withEnds } from '../interrupt.js';
import type { Attack, Counts } from './attack.js';
import type { FieldPlan } from './field.js';
import { Site } from './gateway.js';
import { missesOf, type Result } from './judge.js';
import { Ward } from './ward.js';

const run = promisify(execFile);
/** In real life attackers are on other machines: here they get what the others leave. */
const NICENESS = 10;
/** Loopback for the gateway, but not the victims' address. */
const LOOPBACK = { host: '127.0.0.1', addresses: ['127.0.0.66'] };
/** Private addresses (RFC 1918) that nothing else on a machine is likely to have. */
const PREFIX = '10.213';
const PER_OCTET = 250;
/** Time before the attack, so that effects of the start do not count as effects of the attack. */
const QUIET_MS = 1_000;
const NAMED_WITHIN_MS = 3_000;
const countsSchema = z.record(z.string(), z.number());

/** Whether the run has its own network namespace (scripts/tool.mjs). */
export const HAS_NAMESPACE = process.env['TOOL_NAMESPACE'] === 'own';

/** Tries an attack, or none, on a gateway of its own. */
export function trial(attack: Attack | undefined, seconds: number): Promise<Result> {
  return withEnds(async (onEnd) => {
    const site = await Site.start(attack?.needs?.() ?? {}, attack?.addresses !== undefined);
    onEnd(() => site.remove());
    const { isDurableAway = false, areSubscribersShared = false } = attack ?? {};
    const ward = await Ward.open(site, isDurableAway, areSubscribersShared);
    onEnd(() => ward.end());
    const attacker = attack && (await Attacker.arm(attack, site, seconds));
    if (attacker !== undefined) onEnd(() => attacker.kill());
    await ward.warmUp(QUIET_MS);
    const logBytes = site.logBytes;
    await attacker?.begin();
    const observing = ward.observe(seconds * 1000);
    const counts = (await attacker?.endAfter(seconds)) ?? {};
    const observed = await observing;
    const harm = await attack?.harm?.(site, counts, seconds);
    const isNamed = () => attack === undefined || site.namedBy !== undefined;
    if (!attack?.isUnnamed) await until(isNamed, 'a name', NAMED_WITHIN_MS).catch(() => undefined);
    const result = {
      name: attack?.name ?? 'none',
      observed,
      counts,
      loggedBytes: site.logBytes - logBytes,
      peak: site.peak,
      namedBy: site.namedBy,
    };
    const harms = [harm, await site.ended()].filter((miss) => miss !== undefined);
    return { ...result, misses: [...missesOf(attack, result), ...harms] };
  });
}

/** The process of an attack. */
class Attacker {
  readonly #program: CalledProgram;
  readonly #plan: FieldPlan;

  private constructor(program: CalledProgram, plan: FieldPlan) {
    this.#program = program;
    this.#plan = plan;
  }

  static async arm(attack: Attack, site: Site, seconds: number): Promise<Attacker> {
    const { devices, tokens } = attack.has ?? {};
    const arms = await site.arms(devices, tokens);
    const texts = (await attack.arm?.(site, arms)) ?? {};
    const count = attack.addresses;
    const under = count === undefined ? [] : ['unshare', '--net', '--'];
    const program = new CalledProgram(fieldProgram(), NICENESS, under);
    await program.call('ready', z.unknown());
    const network = count === undefined ? LOOPBACK : await connect(program.processId, count);
    for (const address of network.addresses) site.attackerNames.add(address);
    const armed = { ...arms, devices: [...arms.devices], tokens: [...arms.tokens], texts };
    const shared = { attack: attack.name, seconds, ports: site.ports, arms: armed };
    return new Attacker(program, { ...shared, ...network });
  }

  async begin(): Promise<void> {
    await this.#program.call('begin', z.unknown(), this.#plan);
  }

  /** Resolves to what it has counted. */
  async endAfter(seconds: number): Promise<Counts> {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const counts = await this.#program.call('end', countsSchema);
    await this.kill();
    return counts;
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}

/**
 * Connects a process in its own network with this process, from this many addresses.
 *
 * The two ends of the connection disappear with the process.
 */
async function connect(processId: number, count: number) {
  const host = `${PREFIX}.0.1`;
  const addresses = Array.from({ length: count }, (_, index) => {
    const [third, fourth] = [1 + Math.floor(index / PER_OCTET), 1 + (index % PER_OCTET)];
    return `${PREFIX}.${third}.${fourth}`;
  });
  const [near, far] = ['hostile0', 'hostile1'];
  await run('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', far]);
  await run('ip', ['link', 'set', far, 'netns', String(processId)]);
  await run('ip', ['address', 'add', `${host}/16`, 'dev', near]);
  await run('ip', ['link', 'set', near, 'up']);
  const lines = addresses.map((address) => `address add ${address}/16 dev ${far}`);
  const script = [...lines, `link set ${far} up`, 'link set lo up'].join('\n');
  const inside = run('nsenter', ['-t', String(processId), '-n', 'ip', '-batch', '-']);
  inside.child.stdin?.end(`${script}\n`);
  await inside;
  return { host, addresses };
}

/** The compiled program of an attacker; Vitest runs the sources, and Node.js 20 cannot. */
function fieldProgram(): string {
  const beside = fileURLToPath(new URL('./field.js', import.meta.url));
  if (existsSync(beside)) return beside;
  compile('tools');
  return 'dist-test/tools/hostile/field.js';
}
