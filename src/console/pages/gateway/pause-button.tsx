import { t } from '../../language.js';
import type { Refreshed } from './use-refreshed.js';

/** Stops a list from changing while someone reads it, and resumes it. */
export function PauseButton({
  refreshed,
}: {
  readonly refreshed: Pick<Refreshed<unknown>, 'isPaused' | 'setPaused'>;
}) {
  const { isPaused, setPaused } = refreshed;
  return (
    <span class="gateway-pause">
      <button type="button" onClick={() => setPaused(!isPaused)}>
        {isPaused ? t('Go on', 'Fortsetzen') : t('Pause', 'Anhalten')}
      </button>
      <span class="hint">
        {isPaused
          ? t('Paused', 'Angehalten')
          : t('Refreshed every few seconds', 'Wird alle paar Sekunden erneuert')}
      </span>
    </span>
  );
}
