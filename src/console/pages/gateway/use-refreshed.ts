import { useEffect, useState } from 'preact/hooks';
import { type Loaded, useLoaded } from '../../ui/load.js';

const REFRESH_MS = 5_000;

/** Data that is re-read every few seconds while shown. */
export interface Refreshed<Data> extends Loaded<Data> {
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
}

/** Reads data, and re-reads it every few seconds unless paused or the page is hidden. */
export function useRefreshed<Data>(
  read: () => Promise<Data>,
  dependencies: readonly unknown[],
): Refreshed<Data> {
  const loaded = useLoaded(read, dependencies);
  const [isPaused, setPaused] = useState(false);
  const { again, isPending } = loaded;
  useEffect(() => {
    if (isPaused || isPending) return;
    // Counts from the end of one read to the next: a slow gateway is not asked faster than it answers.
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isPaused, isPending, again]);
  return { ...loaded, isPaused, setPaused };
}
