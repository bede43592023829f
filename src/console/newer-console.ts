import { useEffect, useRef, useState } from 'preact/hooks';
import { useConsole } from './console-parts.js';

/**
 * Whether the gateway now has a different console than the one shown: it was updated.
 *
 * A board stays open for months. An update interrupts the connection, so this checks after each reconnect. A
 * screen on a wall, where no one presses a button, loads the new console automatically.
 */
export function useNewerConsole(isKiosk: boolean): boolean {
  const { live } = useConsole();
  const [isNewer, setNewer] = useState(false);
  /** Whether it was connected or lost before. */
  const hasBegun = useRef(false);
  const state = live.state.value;
  useEffect(() => {
    const isReconnect = hasBegun.current && state === 'connected';
    hasBegun.current ||= state !== 'connecting';
    if (!isReconnect) return;
    hasOtherScript().then(
      (isOther) => {
        if (isOther && isKiosk) location.reload();
        setNewer(isOther);
      },
      // Away again: the next reconnect checks again.
      () => undefined,
    );
  }, [state, isKiosk]);
  return isNewer;
}

/** The name of the script contains a digest of its content. */
async function hasOtherScript(): Promise<boolean> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src');
  const answer = await fetch('./', { cache: 'no-cache' });
  if (!answer.ok || own === null || own === undefined) return false;
  return !(await answer.text()).includes(own);
}
