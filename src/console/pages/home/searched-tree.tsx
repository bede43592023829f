import { useMemo, useState } from 'preact/hooks';
import { useWords } from '../../console-parts.js';
import type { Home } from './home-data.js';
import { homeTree } from './home-tree.js';
import { HOME_WORDS } from './home-words.js';
import { isOnline } from './online-state.js';
import type { Presence } from './presence.js';
import { Tree, type TreeProps } from './tree.js';

/** More lines than anyone reads, and about as many as an old tablet can draw. */
const MAX_DEVICES = 400;

/** A home's tree with a search field above it. */
export function SearchedTree({ home, ...props }: TreeProps & { readonly home: Home }) {
  const { presence, rights } = props;
  const words = useWords(HOME_WORDS);
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
          {words.search}
          <input
            type="search"
            placeholder={words.searchHint}
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
          {words.onlyOffline}
        </label>
        <OfflineCount home={home} presence={presence} />
      </search>
      {isEmpty && <p role="status">{isFiltered ? words.nothingFound : words.empty}</p>}
      <Tree tree={tree} {...props} />
      {tree.left > 0 && (
        <p>
          {words.left(tree.left)}{' '}
          <button type="button" onClick={() => setMaxDevices(Number.POSITIVE_INFINITY)}>
            {words.showAll}
          </button>
        </p>
      )}
      {rights.mayManageHome && !isEmpty && <p class="hint home-drag-hint">{words.dragHint}</p>}
    </>
  );
}

/** A separate component, so that a device that connects redraws only this line. */
function OfflineCount({ home, presence }: { readonly home: Home; readonly presence: Presence }) {
  const words = useWords(HOME_WORDS);
  const offline = home.devices.filter((device) => !isOnline(device, presence)).length;
  return <span class="hint">{words.offlineCount(offline, home.devices.length)}</span>;
}
