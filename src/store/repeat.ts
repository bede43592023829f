/**
 * Repeats a check, at once and then at an interval, until the returned function is called.
 *
 * While a check is under way, no other is begun. One that fails is repeated like any other: that the store does
 * not answer is a fault of StoreMonitor's.
 */
export function repeat(check: () => Promise<void>, intervalMs: number): () => void {
  let isUnderWay = false;
  const run = async (): Promise<void> => {
    if (isUnderWay) return;
    isUnderWay = true;
    try {
      await check();
    } catch {
      // See above.
    } finally {
      isUnderWay = false;
    }
  };
  const timer = setInterval(run, intervalMs);
  void run();
  return () => clearInterval(timer);
}
