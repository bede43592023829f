import { z } from 'zod';

const fieldsSchema = z.array(z.string());
/** Flags of a primary that is to be replaced, or that the Sentinel does not reach. */
const DOUBTFUL = ['s_down', 'o_down', 'disconnected', 'failover_in_progress', 'master_reboot'];

/** Asks a Sentinel; rejects soon when it does not answer (Informant). */
export interface Sentinel {
  ask(...questions: readonly (readonly [string, ...string[]])[]): Promise<unknown[]>;
}

/** What must hold of the primary. */
export interface Sought {
  readonly runId: string;
  /** A Sentinel must have heard from it within this time. */
  readonly heardWithinMs: number;
}

/**
 * Asks whether most Sentinels can be reached and take a server for the primary.
 *
 * If they do, no other server becomes the primary for as long as it takes them to notice its end.
 */
export class SentinelMajority {
  readonly #sentinels: readonly Sentinel[];
  readonly #name: string;

  /** @param name of the primary, in the Sentinels' configuration */
  constructor(sentinels: readonly Sentinel[], name: string) {
    this.#sentinels = sentinels;
    this.#name = name;
  }

  /** Resolves as soon as most agree, or else once all have answered or failed. */
  takesForPrimary(sought: Sought): Promise<boolean> {
    return new Promise((resolve) => {
      let open = this.#sentinels.length;
      let agreeing = 0;
      // Those that the configuration does not name count too.
      let all = this.#sentinels.length;
      const answered = (view: View | undefined) => {
        open--;
        all = Math.max(all, view?.sentinels ?? 0);
        if (view !== undefined && isAgreed(view, sought)) agreeing++;
        if (agreeing > all / 2) resolve(true);
        else if (open === 0) resolve(false);
      };
      for (const sentinel of this.#sentinels) {
        this.#viewOf(sentinel).then(answered, () => answered(undefined));
      }
    });
  }

  async #viewOf(sentinel: Sentinel): Promise<View> {
    const [answer] = await sentinel.ask(['SENTINEL', 'MASTER', this.#name]);
    const fields = fieldsSchema.parse(answer);
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
    return {
      runId: field('runid'),
      flags: field('flags').split(','),
      heardAgoMs: Number(field('last-ok-ping-reply')),
      sentinels: Number(field('num-other-sentinels')) + 1,
    };
  }
}

/** The primary, as a Sentinel sees it. */
interface View {
  readonly runId: string;
  readonly flags: readonly string[];
  readonly heardAgoMs: number;
  /** How many Sentinels it knows, itself among them. */
  readonly sentinels: number;
}

function isAgreed(view: View, { runId, heardWithinMs }: Sought): boolean {
  const isDoubtful = view.flags.some((flag) => DOUBTFUL.includes(flag));
  return view.runId === runId && !isDoubtful && view.heardAgoMs <= heardWithinMs;
}
