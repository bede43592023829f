/** Longer than the pause between two drawings of a burst. */
const DRAWN_AFTER_MS = 300;

/**
 * Keeps the place in the list of somebody who works with the keyboard: what has the focus may vanish with
 * its alarm, or its button.
 *
 * @returns to be called when the alarm has changed
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
