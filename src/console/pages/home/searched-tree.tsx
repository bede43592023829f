import { useMemo, useState } from 'preact/hooks';
import { t } from '../../language.js';
import type { Home } from './home-data.js';
import { homeTree } from './home-tree.js';
import { isOnline } from './online-state.js';
import type { Presence } from './presence.js';
import { Tree, type TreeProps } from './tree.js';

/** More lines than anyone reads, and about as many as an old tablet can draw. */
const MAX_DEVICES = 400;

/** A home's tree with a search field above it. */
export function SearchedTree({ home, ...props }: TreeProps & { readonly home: Home }) {
  const { presence, rights } = props;
  const [search, setSearch] = useState('');
  const [isOfflineOnly, setOfflineOnly] = useState(false);
  const [maxDevices, setMaxDevices] = useState(MAX_DEVICES);
  // Read from the signals only where they decide what is shown.
  const shownKey = isOfflineOnly
    ? home.devices.filter((device) => !isOnline(device, presence)).map(({ id }) => id)
    : undefined;
  const tree = useMemo(() => {
    const shown = shownKey === undefined ? undefined : new Set(shownKey);
    const shows = shown === undefined ? undefined : ({ id }: { id: string }) => shown.has(id);
    return homeTree(home, { search, shows, maxDevices });
  }, [home, search, shownKey?.join(), maxDevices]);
  const isEmpty = tree.groups.length === 0 && tree.loose.length === 0;
  const isFiltered = search.trim() !== '' || isOfflineOnly;
  return (
    <>
      <search class="home-search">
        <label>
          {t('Search', 'Suche')}
          <input
            type="search"
            placeholder={t('Group, room or device', 'Gruppe, Zimmer oder Gerät')}
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isOfflineOnly}
            onChange={({ currentTarget }) => setOfflineOnly(currentTarget.checked)}
          />
          {t('Offline only', 'Nur Geräte ohne Verbindung')}
        </label>
        <OfflineCount home={home} presence={presence} />
      </search>
      {isEmpty && (
        <p role="status">
          {isFiltered
            ? t('Nothing matches.', 'Nichts gefunden.')
            : t(
                'There are no rooms and no devices yet.',
                'Es gibt noch keine Zimmer und keine Geräte.',
              )}
        </p>
      )}
      <Tree tree={tree} {...props} />
      {tree.left > 0 && (
        <p>
          {tree.left === 1
            ? t('1 more device is not shown.', '1 weiteres Gerät wird nicht gezeigt.')
            : t(
                `${tree.left} more devices are not shown.`,
                `${tree.left} weitere Geräte werden nicht gezeigt.`,
              )}{' '}
          <button type="button" onClick={() => setMaxDevices(Number.POSITIVE_INFINITY)}>
            {t('Show all', 'Alle zeigen')}
          </button>
        </p>
      )}
      {rights.mayManageHome && !isEmpty && (
        <p class="hint home-drag-hint">
          {t(
            'Devices can be dragged to a room, and rooms to a group.',
            'Geräte lassen sich auf ein Zimmer ziehen, Zimmer auf eine Gruppe.',
          )}
        </p>
      )}
    </>
  );
}

/** A separate component, so that a device that connects redraws only this line. */
function OfflineCount({ home, presence }: { readonly home: Home; readonly presence: Presence }) {
  const offline = home.devices.filter((device) => !isOnline(device, presence)).length;
  return (
    <span class="hint">
      {t(
        `${offline} of ${home.devices.length} devices offline`,
        `${offline} von ${home.devices.length} Geräten ohne Verbindung`,
      )}
    </span>
  );
}
