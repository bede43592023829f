import { z } from 'zod';
import type { Cleanups } from '../bench/speed/cleanups.js';
import type { Attack } from './attack.js';
import { countsSchema, type FieldPlan } from './attacker/plan.js';
import { Program } from './calls.js';
import { connectNetwork, ISOLATED } from './network.js';
import { programFile } from './programs.js';
import type { Site } from './site.js';

/** In real life attackers are on other machines: here they get what the others leave. */
const NICENESS = 10;
const HOST = '127.0.0.1';
/** Loopback for the gateway, but not the victims' address. */
const ADDRESS = '127.0.0.66';

interface Attacker {
  readonly program: Program;
  readonly plan: FieldPlan;
}

/** The processes of an attack, armed and waiting. */
export class Attackers {
  readonly #attackers: readonly Attacker[];

  private constructor(attackers: readonly Attacker[]) {
    this.#attackers = attackers;
  }

  static async arm(
    attack: Attack | undefined,
    site: Site,
    seconds: number,
    cleanups: Cleanups,
  ): Promise<Attackers> {
    if (attack === undefined) return new Attackers([]);
    const arms = await attack.arm(site);
    const shared = { attack: attack.name, seconds, ports: site.ports, arms };
    const attackers: Attacker[] = [];
    for (let count = 0; count < (attack.processes ?? 1); count++) {
      const under = attack.addresses === undefined ? [] : ISOLATED;
      const program = new Program(programFile('attacker'), { under, niceness: NICENESS });
      cleanups.onEnd(() => program.kill());
      await program.call({ call: 'ready' }, z.unknown());
      const network =
        attack.addresses === undefined
          ? { host: HOST, addresses: [ADDRESS] }
          : await connectNetwork(program.processId, attack.addresses);
      for (const address of network.addresses) site.attackerNames.add(address);
      attackers.push({ program, plan: { ...shared, ...network } });
    }
    return new Attackers(attackers);
  }

  get processIds(): readonly number[] {
    return this.#attackers.map(({ program }) => program.processId);
  }

  async begin(): Promise<void> {
    for (const { program, plan } of this.#attackers) {
      await program.call({ call: 'begin', plan }, z.unknown());
    }
  }

  /** Ends the attack and the attackers with all their connections. Resolves to their counts. */
  async end(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { program } of this.#attackers) {
      const counted = await program.call({ call: 'end' }, countsSchema);
      for (const [name, count] of Object.entries(counted)) {
        counts[name] = (counts[name] ?? 0) + count;
      }
      await program.kill();
    }
    return counts;
  }
}
