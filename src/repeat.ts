/**
 * Repeats a check, at once and then so long after each of its ends, until the returned function is called.
 *
 * A check that fails is repeated like any other: the check itself tells those who must know, and StoreMonitor
 * reports a store that does not answer.
 *
 * @param pauseMs asked after each check when it is a function
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
