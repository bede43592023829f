type Release = () => void | Promise<void>;

interface Step {
  readonly release: Release;
  readonly isLimited: boolean;
}

export interface ReleaseOptions {
  /** How long all steps together may take, but for those that keep a time limit of their own. */
  readonly patienceMs: number;
  readonly onFailure: (error: unknown) => void;
  /** Called once, when a step is not waited for any longer. */
  readonly onOutOfTime: () => void;
}

/** Stops what was started in reverse order, also when a start fails half-way. */
export class Releasers {
  readonly #steps: Step[] = [];

  /** Something that may wait for the store, and is left to itself when that takes too long. */
  add(release: Release): void {
    this.#steps.push({ release, isLimited: false });
  }

  /** Something that keeps a time limit of its own, and is waited for in any case. */
  addLimited(release: Release): void {
    this.#steps.push({ release, isLimited: true });
  }

  /** Stops everything, last in, first out; one failure does not keep the others running. */
  async release({ patienceMs, onFailure, onOutOfTime }: ReleaseOptions): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let isOutOfTime = false;
    const outOfTime = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        isOutOfTime = true;
        resolve();
      }, patienceMs);
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
