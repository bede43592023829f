import { useEffect, useRef, useState } from 'preact/hooks';
import { useConsole } from './console-parts.js';

/**
 * Whether the gateway has another console than the one that is shown: it was updated.
 *
 * A board is left open for months. The gateway was away while it was updated, so this is looked up after each
 * reconnect. A screen on a wall, where no one presses a button, loads the new one by itself.
 */
export function useNewerConsole(isKiosk: boolean): boolean {
  const { live } = useConsole();
  const [isNewer, setNewer] = useState(false);
  /** Whether it was connected, or lost, before. */
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
      // Away again: the next reconnect asks again.
      () => undefined,
    );
  }, [state, isKiosk]);
  return isNewer;
}

/** The name of the script has a digest of what is in it. */
async function hasOtherScript(): Promise<boolean> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src');
  const answer = await fetch('./', { cache: 'no-cache' });
  if (!answer.ok || own === null || own === undefined) return false;
  return !(await answer.text()).includes(own);
}
