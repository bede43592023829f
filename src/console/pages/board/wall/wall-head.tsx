import { locale, t } from '../../../language.js';
import { Connection } from '../../../shell.js';
import type { useBoard } from '../use-board.js';

interface WallHeadProps {
  readonly board: ReturnType<typeof useBoard>;
}

/** Shows at a glance that a wall is alive: the home, the gateway's time, and the connection. */
export function WallHead({ board }: WallHeadProps) {
  const { locations } = board.feed.state.value;
  const homeId = board.homeId.value ?? (locations.length === 1 ? locations[0]?.id : undefined);
  const home = locations.find(({ id }) => id === homeId)?.name;
  const format = { hour: '2-digit', minute: '2-digit' } as const;
  return (
    <div class="board-wall-head">
      <strong>{home ?? (locations.length > 1 ? t('All homes', 'Alle Heime') : '')}</strong>
      <time class="board-clock">
        {new Date(board.nowMs.value).toLocaleTimeString(locale(), format)}
      </time>
      <Connection />
    </div>
  );
}
