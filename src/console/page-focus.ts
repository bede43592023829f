import { useEffect, useRef } from 'preact/hooks';

/**
 * Moves the focus to the heading of the new page after a navigation, so that a screen reader announces it and
 * the keyboard continues there. The first page keeps the browser's focus.
 *
 * @param page changes with every page that has its own heading, but not with places within it
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
    // The page is still loading.
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
