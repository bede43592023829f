/** Ctrl-C leaves no gateway, store or load behind. */
const EXIT_INTERRUPTED = 130;
const running: (() => unknown)[] = [];
let isInterrupted = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    isInterrupted = true;
    await endAll(running);
    process.exit(EXIT_INTERRUPTED);
  });
}

/**
 * Does work, and then ends what the work has registered, the last first, also when the tool is interrupted.
 *
 * @param work registers how to end what it starts
 */
export async function withEnds<T>(
  work: (onEnd: (end: () => unknown) => void) => Promise<T>,
): Promise<T> {
  const own: (() => unknown)[] = [];
  running.push(() => endAll(own));
  try {
    return await work((end) => own.push(end));
  } finally {
    // The work fails because what it needs has ended; the process ends with the rest.
    if (isInterrupted) await new Promise(() => undefined);
    running.pop();
    await endAll(own);
  }
}

async function endAll(ends: (() => unknown)[]): Promise<void> {
  for (const end of ends.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      console.error(error);
    }
  }
}
