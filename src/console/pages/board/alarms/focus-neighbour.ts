/** Longer than the pause between two drawings of a burst. */
const DRAWN_AFTER_MS = 300;

/**
 * Keeps a keyboard user's place in the list: the element with the focus may vanish with its alarm or its
 * button.
 *
 * @returns a function to call when the alarm has changed
 */
export function focusNeighbour(inside: Element | null): () => void {
  const row = inside?.closest('li');
  const [own, neighbour] = [row, row?.nextElementSibling ?? row?.previousElementSibling].map(
    (item) => item?.querySelector<HTMLElement>('article'),
  );
  return () => {
    // After the change has been drawn.
    setTimeout(() => {
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      const next = own?.isConnected === true ? own : neighbour;
      (next?.isConnected === true ? next : document.getElementById('content'))?.focus();
    }, DRAWN_AFTER_MS);
  };
}
