const EXIT_INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

const stops = new Set<() => Promise<void>>();
let isInterrupted = false;

/** Has something stopped when the run is interrupted; returns how to say that this is over. */
export function stopOnInterrupt(stop: () => Promise<void>): () => void {
  stops.add(stop);
  return () => stops.delete(stop);
}

/** Whether the run ends as soon as everything is stopped. */
export function wasInterrupted(): boolean {
  return isInterrupted;
}

/**
 * From now on Ctrl-C, or SIGTERM, stops what was named, and then whatever else was started: the bench
 * has a process group of its own (`scripts/bench.mjs`). Another one ends the bench at once.
 */
export function handleInterrupts(): void {
  const interrupted = async () => {
    isInterrupted = true;
    for (const signal of SIGNALS) process.off(signal, interrupted);
    await Promise.all([...stops].map((stop) => stop()));
    endGroup();
  };
  for (const signal of SIGNALS) process.on(signal, interrupted);
}

/** Parts of the bench that name nothing leave it to their processes to stop, as a terminal does. */
function endGroup(): void {
  process.once('SIGINT', () => process.exit(EXIT_INTERRUPTED));
  try {
    process.kill(-process.pid, 'SIGINT');
  } catch {
    // The bench was started without a group of its own.
    process.exit(EXIT_INTERRUPTED);
  }
}
