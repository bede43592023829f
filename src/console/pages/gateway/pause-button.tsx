import { useWords } from '../../console-parts.js';
import { GATEWAY_WORDS } from './gateway-words.js';
import type { Refreshed } from './use-refreshed.js';

/** Stops a list from changing while someone reads it, and resumes it. */
export function PauseButton({
  refreshed,
}: {
  readonly refreshed: Pick<Refreshed<unknown>, 'isPaused' | 'setPaused'>;
}) {
  const words = useWords(GATEWAY_WORDS);
  const { isPaused, setPaused } = refreshed;
  return (
    <span class="gateway-pause">
      <button type="button" onClick={() => setPaused(!isPaused)}>
        {isPaused ? words.goOn : words.pause}
      </button>
      <span class="hint">{isPaused ? words.paused : words.refreshed}</span>
    </span>
  );
}
