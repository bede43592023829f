import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { SoundControl } from './sound/sound-control.js';
import type { useBoard } from './use-board.js';

// Lazy because it draws QR codes, which only administrators need.
const WallLinkDialog = lazy(async () => ({
  default: (await import('./wall/wall-link-dialog.js')).WallLinkDialog,
}));

interface BoardToolsProps {
  readonly board: ReturnType<typeof useBoard>;
  readonly isKiosk: boolean;
}

/** The filters, the sound switch, and the link for a wall screen. */
export function BoardTools({ board, isKiosk }: BoardToolsProps) {
  const { session } = useConsole();
  const [isLinking, setLinking] = useState(false);
  const { locations } = board.feed.state.value;
  return (
    <div class="board-tools">
      <SoundControl sound={board.sound} />
      {locations.length > 1 && <HomeChoice board={board} />}
      {session.isAdmin.value && !isKiosk && (
        <button type="button" onClick={() => setLinking(true)}>
          {t('Link for a wall screen', 'Link für einen Wandbildschirm')}
        </button>
      )}
      {isLinking && (
        <Suspense fallback={null}>
          <WallLinkDialog
            locations={locations}
            homeId={board.homeId.value}
            onClose={() => setLinking(false)}
          />
        </Suspense>
      )}
    </div>
  );
}

function HomeChoice({ board }: Pick<BoardToolsProps, 'board'>) {
  const { feed, homeId, chooseHome } = board;
  return (
    <label class="board-choice">
      {t('Home', 'Heim')}
      <select
        value={homeId.value ?? ''}
        onChange={({ currentTarget: { value } }) => chooseHome(value === '' ? undefined : value)}
      >
        <option value="">{t('All homes', 'Alle Heime')}</option>
        {feed.state.value.locations.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
