import { z } from 'zod';
import type { Address } from '../../domain/server-address.js';
import { askServer } from '../server/connection.js';
import type { SentinelPlace } from './failovers.js';

const fieldsSchema = z.array(z.string());
/** Flags of a primary that is being replaced, or that the Sentinel cannot reach. */
const REPLACING = 'failover_in_progress';
const DOUBTFUL = ['s_down', 'o_down', 'disconnected', REPLACING, 'master_reboot'];
/** How long the last Sentinels may take once most have agreed: one of them may know of a newer primary. */
const LAST_ANSWERS_MS = 20;

/** The server that should be the primary. */
export interface Sought {
  readonly runId: string;
  /** The address we are connected to. A Sentinel learns the run id of a new primary only after some seconds. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** A Sentinel must have heard from it within this time. */
  readonly heardWithinMs: number;
}

/** The primary, as a Sentinel sees it. */
interface View {
  readonly runId: string;
  readonly host: string;
  readonly port: number;
  readonly flags: readonly string[];
  readonly heardAgoMs: number;
  /** Rises with every failover. */
  readonly epoch: number;
  /** How many Sentinels it knows, including itself. */
  readonly sentinels: number;
}

/**
 * Asks whether most Sentinels can be reached and consider a server the primary.
 *
 * If so, no other server becomes the primary until they have had time to notice its end.
 */
export class SentinelMajority {
  readonly #place: SentinelPlace;

  constructor(place: SentinelPlace) {
    this.#place = place;
  }

  /** Resolves soon after most agree, or once all have answered or failed. */
  takesForPrimary(sought: Sought): Promise<boolean> {
    return new Promise((resolve) => {
      const views: View[] = [];
      let open = this.#place.sentinels.length;
      let timer: NodeJS.Timeout | undefined;
      const decide = () => {
        clearTimeout(timer);
        resolve(this.#isAgreed(views, sought));
      };
      const answered = (view: View | undefined) => {
        open--;
        if (view !== undefined) views.push(view);
        if (open === 0) decide();
        else if (this.#isAgreed(views, sought)) timer ??= setTimeout(decide, LAST_ANSWERS_MS);
      };
      for (const sentinel of this.#place.sentinels) {
        this.#viewOf(sentinel).then(answered, () => answered(undefined));
      }
    });
  }

  #isAgreed(views: readonly View[], sought: Sought): boolean {
    const agreeing = views.filter((view) => isAgreed(view, sought));
    const epoch = Math.max(...agreeing.map((view) => view.epoch));
    // Sentinels that the configuration does not name count too.
    const all = Math.max(this.#place.sentinels.length, ...views.map(({ sentinels }) => sentinels));
    // For some seconds, only the Sentinel that leads a failover may know of it.
    const isReplaced = views.some((view) => view.epoch > epoch || view.flags.includes(REPLACING));
    return agreeing.length > all / 2 && !isReplaced;
  }

  async #viewOf(sentinel: Address): Promise<View> {
    const { access, name } = this.#place;
    const fields = fieldsSchema.parse(
      await askServer(sentinel, access, 'SENTINEL', 'MASTER', name),
    );
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
    return {
      runId: field('runid'),
      host: field('ip'),
      port: Number(field('port')),
      flags: field('flags').split(','),
      heardAgoMs: Number(field('last-ok-ping-reply')),
      epoch: Number(field('config-epoch')),
      sentinels: Number(field('num-other-sentinels')) + 1,
    };
  }
}

function isAgreed(view: View, { runId, host, port, heardWithinMs }: Sought): boolean {
  const isIt = view.runId === runId || (view.host === host && view.port === port);
  const isDoubtful = view.flags.some((flag) => DOUBTFUL.includes(flag));
  return isIt && !isDoubtful && view.heardAgoMs <= heardWithinMs;
}
