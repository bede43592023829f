import { setTimeout as delay } from 'node:timers/promises';
import type { CutManner, Fault, LinkKind, Role } from '../schedule.js';
import type { Boxes } from './boxes.js';

/** A process of the pair that faults can hit. */
interface Victim {
  readonly name: string;
  kill(): Promise<void>;
  start(): void | Promise<void>;
  freeze(): void;
  thaw(): void;
}

/** A link, from the side that connects. */
type Link = readonly [from: string, to: string];

/** A fault that has begun. */
export interface BegunFault {
  /** Names of the processes that it stops or freezes. */
  readonly processes: readonly string[];
  end(): Promise<void>;
}

const SENTINELS = ['sentinel-1', 'sentinel-2', 'sentinel-3'] as const;
const DEMOTE_AGAIN_MS = 250;
const DEMOTE_WITHIN_MS = 60_000;

/** The roles of the processes at one moment. */
export class PairRoles {
  readonly #boxes: Boxes;
  /** The number of the serving gateway's box. */
  readonly #serving: 1 | 2 | undefined;
  readonly #primary: 1 | 2;
  readonly #sentinel: number;

  private constructor(boxes: Boxes, serving: 1 | 2 | undefined, primary: 1 | 2, sentinel: number) {
    this.#boxes = boxes;
    this.#serving = serving;
    this.#primary = primary;
    this.#sentinel = sentinel;
  }

  static async of(boxes: Boxes, sentinel: number): Promise<PairRoles> {
    const serving = await boxes.serving();
    const [one] = boxes.gateways;
    const box = serving === one ? 1 : 2;
    const primary = await boxes.store.primary();
    return new PairRoles(
      boxes,
      serving && box,
      primary === boxes.store.servers[0] ? 1 : 2,
      sentinel,
    );
  }

  /** Begins the fault; undefined when no process has its role. */
  async begin(fault: Fault, untouchable: readonly string[] = []): Promise<BegunFault | undefined> {
    switch (fault.kind) {
      case 'demote':
        await this.#demote();
        return { processes: [], end: async () => undefined };
      case 'cut':
        return this.#cut(this.#linksOf(fault.link), fault.manner);
      case 'isolate':
        return this.#isolate(this.#boxOf(fault.role));
      case 'power':
        return this.#kill(this.#processesOf(this.#boxOf(fault.role)));
      default: {
        const victim = this.#victimOf(fault.role);
        if (victim === undefined || untouchable.includes(victim.name)) return undefined;
        if (fault.kind === 'kill') return this.#kill([victim]);
        if (fault.kind === 'freeze') return freeze(victim);
        return this.#stop(victim.name);
      }
    }
  }

  #boxOf(role: 'primary' | 'replica'): 1 | 2 {
    return role === 'primary' ? this.#primary : other(this.#primary);
  }

  #processesOf(box: 1 | 2): Victim[] {
    return [this.#gateway(box), this.#server(box), this.#sentinelAt(box - 1)];
  }

  #victimOf(role: Role): Victim | undefined {
    switch (role) {
      case 'serving':
        return this.#serving && this.#gateway(this.#serving);
      case 'standing by':
        return this.#serving && this.#gateway(other(this.#serving));
      case 'a sentinel':
        return this.#sentinelAt(this.#sentinel);
      default:
        return this.#server(this.#boxOf(role));
    }
  }

  #gateway(box: 1 | 2): Victim {
    return this.#boxes.gateways[box === 1 ? 0 : 1];
  }

  #server(box: 1 | 2): Victim {
    return named(`redis-${box}`, this.#boxes.store.servers[box === 1 ? 0 : 1]);
  }

  #sentinelAt(at: number): Victim {
    const program = this.#boxes.store.sentinelPrograms[at];
    if (program === undefined) throw new Error(`there is no Sentinel ${at}`);
    return named(`sentinel-${at + 1}`, program);
  }

  #linksOf(kind: LinkKind): Link[] {
    const serving = `gateway-${this.#serving ?? 1}`;
    const standing = `gateway-${other(this.#serving ?? 1)}`;
    const primary = `redis-${this.#primary}`;
    const replica = `redis-${other(this.#primary)}`;
    const sentinel = SENTINELS[this.#sentinel] ?? 'sentinel-3';
    const links: Record<LinkKind, Link[]> = {
      'serving gateway → primary': [[serving, primary]],
      'serving gateway → replica': [[serving, replica]],
      'standing gateway → primary': [[standing, primary]],
      'gateways → a sentinel': [
        [serving, sentinel],
        [standing, sentinel],
      ],
      'serving gateway → all sentinels': SENTINELS.map((each) => [serving, each] as const),
      'replica → primary': [[replica, primary]],
      'a sentinel → primary': [[sentinel, primary]],
      'a sentinel → replica': [[sentinel, replica]],
      'sentinels of the boxes → each other': [
        ['sentinel-1', 'sentinel-2'],
        ['sentinel-2', 'sentinel-1'],
      ],
    };
    return links[kind];
  }

  /** All links between a box and the rest. */
  #linksAcross(box: 1 | 2): Link[] {
    const inside = [`gateway-${box}`, `redis-${box}`, `sentinel-${box}`];
    const rest = other(box);
    const outside = [`gateway-${rest}`, `redis-${rest}`, `sentinel-${rest}`, 'sentinel-3'];
    return inside.flatMap((one) =>
      outside.flatMap((two): Link[] => [
        [one, two],
        [two, one],
      ]),
    );
  }

  /** Cuts a box off from the other machines and from the clients of the moving address. */
  #isolate(box: 1 | 2): BegunFault {
    const gateway = this.#boxes.gateways[box === 1 ? 0 : 1];
    const begun = this.#cut(this.#linksAcross(box), 'silent');
    this.#boxes.keepalived.unplug(gateway);
    return {
      ...begun,
      end: async () => {
        await begun.end();
        this.#boxes.keepalived.plug(gateway);
      },
    };
  }

  #cut(links: readonly Link[], manner: CutManner): BegunFault {
    const { network } = this.#boxes;
    for (const [from, to] of links) network.cut(from, to, manner);
    return {
      processes: [],
      end: async () => {
        for (const [from, to] of links) network.mend(from, to);
      },
    };
  }

  async #kill(victims: readonly Victim[]): Promise<BegunFault> {
    await Promise.all(victims.map((victim) => victim.kill()));
    return {
      processes: victims.map(({ name }) => name),
      end: async () => {
        await Promise.all(victims.map((victim) => victim.start()));
      },
    };
  }

  async #stop(name: string): Promise<BegunFault | undefined> {
    const gateway = this.#boxes.gateways.find((each) => each.name === name);
    if (gateway === undefined) return undefined;
    await gateway.stop();
    return { processes: [name], end: async () => gateway.start() };
  }

  /** A Sentinel refuses while it or another one is already failing over. */
  async #demote(): Promise<void> {
    const { store } = this.#boxes;
    const giveUpAt = performance.now() + DEMOTE_WITHIN_MS;
    for (let at = this.#sentinel; ; at++) {
      const sentinel = store.sentinelPrograms[at % SENTINELS.length];
      try {
        await sentinel?.redis.call('sentinel', 'failover', store.name);
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await delay(DEMOTE_AGAIN_MS);
      }
    }
  }
}

function freeze(victim: Victim): BegunFault {
  victim.freeze();
  return { processes: [victim.name], end: async () => victim.thaw() };
}

function other(box: 1 | 2): 1 | 2 {
  return box === 1 ? 2 : 1;
}

function named(name: string, program: Omit<Victim, 'name'>): Victim {
  return {
    name,
    kill: () => program.kill(),
    start: () => program.start(),
    freeze: () => program.freeze(),
    thaw: () => program.thaw(),
  };
}
