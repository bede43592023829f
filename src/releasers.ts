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
