import { useLayoutEffect } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';

/**
 * Asks before the page is left while something on it would be lost.
 *
 * @param question undefined: nothing would be lost
 */
export function useKeptPage(question: string | undefined): void {
  const { routing } = useConsole();
  // An effect after the next frame would be too late for somebody who leaves at once.
  useLayoutEffect(
    () => (question === undefined ? undefined : routing.keep(question)),
    [routing, question],
  );
}
