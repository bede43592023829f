import { useEffect } from 'preact/hooks';

/**
 * Asks before the page is left while something on it would be lost.
 *
 * @param question undefined: nothing would be lost
 */
export function useKeptPage(question: string | undefined): void {
  useEffect(() => {
    if (question === undefined) return;
    const unload = (event: BeforeUnloadEvent) => event.preventDefault();
    const follow = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
      if (link !== null && !confirm(question)) event.preventDefault();
    };
    addEventListener('beforeunload', unload);
    document.addEventListener('click', follow, { capture: true });
    return () => {
      removeEventListener('beforeunload', unload);
      document.removeEventListener('click', follow, { capture: true });
    };
  }, [question]);
}
