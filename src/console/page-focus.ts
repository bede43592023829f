import { useEffect, useRef } from 'preact/hooks';

/**
 * Moves the focus to the heading of a page that was navigated to, so that a screen reader says where it is and
 * the keyboard goes on from there. The page that is shown first is left as the browser has it.
 *
 * @param page changes with what has a heading of its own; not with what is shown within it
 */
export function usePageFocus(page: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    scrollTo(0, 0);
    if (focusHeading()) return;
    // The page is still being loaded.
    const observer = new MutationObserver(() => {
      if (focusHeading()) observer.disconnect();
    });
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [page]);
}

/** Moves the focus to the heading of the page. @returns whether it has one */
export function focusHeading(): boolean {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading === null) return false;
  heading.tabIndex = -1;
  heading.focus();
  return true;
}
