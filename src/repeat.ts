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
