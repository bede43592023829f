/** Stops the parts of the gateway, and runs their work: at an interval, in turn, one at a time. */
import type { Logger } from 'pino';

type Release = () => void | Promise<void>;

interface Step {
  readonly release: Release;
  readonly isLimited: boolean;
}

export interface ReleaseOptions {
  /** Timeout of all steps together, except those with their own timeout. */
  readonly timeoutMs: number;
  readonly onFailure: (error: unknown) => void;
  /** Called once, at the first step that exceeds the timeout. */
  readonly onOutOfTime: () => void;
}

/** Stops the started parts in reverse order, even after a start that failed half-way. */
export class Releasers {
  readonly #steps: Step[] = [];

  /** Adds a step that may wait for the store; it is abandoned at the timeout. */
  add(release: Release): void {
    this.#steps.push({ release, isLimited: false });
  }

  /** Does the work at an interval until everything stops. */
  every(intervalMs: number, work: () => void): void {
    const timer = setInterval(work, intervalMs);
    this.add(() => clearInterval(timer));
  }

  /** Adds a step with its own timeout; it is always awaited. */
  addLimited(release: Release): void {
    this.#steps.push({ release, isLimited: true });
  }

  /** Stops everything, last in, first out. A failure does not keep other parts running. */
  async release({ timeoutMs, onFailure, onOutOfTime }: ReleaseOptions): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let isOutOfTime = false;
    const outOfTime = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isOutOfTime = true;
        resolve();
      }, timeoutMs);
    });
    let isTold = false;
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const released = attempt(step.release, onFailure);
      await (step.isLimited ? released : Promise.race([released, outOfTime]));
      if (step.isLimited || !isOutOfTime || isTold) continue;
      isTold = true;
      onOutOfTime();
    }
    clearTimeout(timer);
  }
}

async function attempt(release: Release, onFailure: (error: unknown) => void): Promise<void> {
  try {
    await release();
  } catch (error) {
    onFailure(error);
  }
}

/**
 * Runs a check immediately, and again after a pause each time it ends, until the returned function is called.
 *
 * A failed check is repeated like any other: it reports its failure itself, and StoreWatch reports a store that
 * does not answer.
 *
 * @param pauseMs if a function, it is called after each check
 */
export function repeat(check: () => Promise<void>, pauseMs: number | (() => number)): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const run = async (): Promise<void> => {
    try {
      await check();
    } catch {
      // See above.
    }
    if (isStopped) return;
    timer = setTimeout(run, typeof pauseMs === 'number' ? pauseMs : pauseMs());
  };
  void run();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Runs work in the order of the calls, each after the one before has succeeded or failed. */
export function inTurn(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last = Promise.resolve();
  return async (work) => {
    const before = last;
    let ended: () => void = () => undefined;
    last = new Promise((resolve) => {
      ended = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      ended();
    }
  };
}

/**
 * Runs work one at a time. All who ask during a run share the next one, which sees what they have changed.
 *
 * @returns asks for a run; resolves, or fails, with one that had not begun
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  const take = inTurn();
  let next: Promise<void> | undefined;
  return () => {
    next ??= take(() => {
      next = undefined;
      return work();
    });
    return next;
  };
}

/** Removes things of one kind that are too old. */
export interface Retention {
  /** Removes all of them, or only some when stopped. Returns how many. */
  removeOld(stopping: AbortSignal): Promise<number>;
}

export interface RetentionOptions {
  /** A plural noun for the things removed, for the log. */
  readonly what: string;
  readonly intervalMs: number;
  readonly log: Logger;
}

/**
 * Runs a retention immediately, and again an interval after each run ends, until the returned function is called.
 *
 * A run may wait for the store for hours. A failed run is repeated at the next interval.
 */
export function runRetention(
  retention: Retention,
  { what, intervalMs, log }: RetentionOptions,
): () => void {
  const stopping = new AbortController();
  const stop = repeat(async () => {
    try {
      const removed = await retention.removeOld(stopping.signal);
      if (removed > 0) log.info({ removed }, `removed old ${what}`);
    } catch (error) {
      log.warn({ err: error }, `failed to remove old ${what}, retrying`);
    }
  }, intervalMs);
  return () => {
    stopping.abort();
    stop();
  };
}
