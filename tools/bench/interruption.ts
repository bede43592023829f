const EXIT_INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

const stops = new Set<() => Promise<void>>();
let isInterrupted = false;

/** Registers what to stop when the run is interrupted; returns a function that unregisters it. */
export function stopOnInterrupt(stop: () => Promise<void>): () => void {
  stops.add(stop);
  return () => stops.delete(stop);
}

/** Whether the run was interrupted: it ends as soon as everything is stopped. */
export function wasInterrupted(): boolean {
  return isInterrupted;
}

/**
 * From now on Ctrl-C or SIGTERM stops what is registered, and then whatever else was started: the bench
 * has its own process group (`scripts/bench.mjs`). A second signal ends the bench immediately.
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

/** Signals the group, as a terminal does: parts of the bench that register nothing rely on it. */
function endGroup(): void {
  process.once('SIGINT', () => process.exit(EXIT_INTERRUPTED));
  try {
    process.kill(-process.pid, 'SIGINT');
  } catch {
    // The bench was started without its own group.
    process.exit(EXIT_INTERRUPTED);
  }
}
