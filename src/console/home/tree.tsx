/** The page of one home: its groups, rooms and devices, which can be searched and edited. */

import { useMemo, useState } from 'preact/hooks';
import type { Device, Group, Room } from '../api.js';
import { number, t } from '../language.js';
import { hrefTo } from '../place.js';
import { session } from '../session.js';
import { openDialog } from '../ui/dialog.js';
import { Choice, type Option } from '../ui/fields.js';
import { DeviceRows, EditButton } from './devices.js';
import { HomeFrame, useThisHome } from './frame.js';
import {
  DEVICE_FILTERS,
  type DeviceFilter,
  type Home,
  homeTree,
  isShown,
  presenceNow,
} from './home.js';
import { SilenceDialog } from './silence.js';

export function OneHome({ locationId }: { readonly locationId: string }) {
  return (
    <HomeFrame locationId={locationId}>
      <HomeHead />
      <SearchedTree />
    </HomeFrame>
  );
}

function HomeHead() {
  const { home, rights, edit, done } = useThisHome();
  const { id, name } = home.location;
  const hasHubs = home.devices.some((device) => presenceNow(device).via !== undefined);
  const maySetSilence = home.devices.some((device) => rights.mayManageDevice(device));
  return (
    <>
      <div class="row home-title">
        <h1>{name}</h1>
        {rights.mayManageHome && <EditButton edited={{ what: 'location', of: home.location }} />}
      </div>
      <div class="row home-tools">
        {rights.mayManageHome && (
          <button type="button" class="primary" onClick={() => edit({ what: 'device' })}>
            {t('New device', 'Neues Gerät')}
          </button>
        )}
        {rights.mayMakeRooms && (
          <button type="button" onClick={() => edit({ what: 'room' })}>
            {t('New room', 'Neues Zimmer')}
          </button>
        )}
        {rights.mayManageHome && (
          <button type="button" onClick={() => edit({ what: 'group' })}>
            {t('New group', 'Neue Gruppe')}
          </button>
        )}
        {maySetSilence && (
          <button
            type="button"
            onClick={() => openDialog(<SilenceDialog home={home} onChanged={done} />)}
          >
            {t('Silence time', 'Erlaubte Funkstille')}
          </button>
        )}
        {rights.mayManageHome && (
          <a href={hrefTo(`/home/${id}/import`)}>
            {t('Many devices from a table', 'Viele Geräte aus einer Tabelle')}
          </a>
        )}
        {hasHubs && <a href={hrefTo(`/home/${id}/hubs`)}>{t('Hubs', 'Hubs')}</a>}
        {session.may('viewer', id, null) && (
          <a href={hrefTo(`/home/${id}/drills`)}>{t('Drills', 'Probealarme')}</a>
        )}
      </div>
    </>
  );
}

/** More lines than anyone reads, and about as many as an old tablet can draw. */
const MAX_DEVICES = 400;

const filterNames = (): Readonly<Record<DeviceFilter, string>> => ({
  all: t('All devices', 'Alle Geräte'),
  offline: t('Offline', 'Ohne Verbindung'),
  silent: t('Silent', 'Verstummt'),
  hub: t('Behind a hub', 'Hinter einem Hub'),
  never: t('Never heard', 'Noch nie gehört'),
});

function SearchedTree() {
  const { home, silent } = useThisHome();
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState<DeviceFilter>('all');
  const [maxDevices, setMaxDevices] = useState(MAX_DEVICES);
  // Statuses are read only where they decide what is shown.
  const shownIds =
    filter === 'all'
      ? undefined
      : home.devices.filter((device) => isShown(device, filter, silent)).map(({ id }) => id);
  const tree = useMemo(() => {
    const shown = new Set(shownIds);
    const shows = shownIds && (({ id }: Device) => shown.has(id));
    return homeTree(home, { search, shows, maxDevices });
  }, [home, search, shownIds?.join(), maxDevices]);
  const isEmpty = tree.groups.length === 0 && tree.loose.length === 0;
  const isFiltered = search.trim() !== '' || filter !== 'all';
  return (
    <>
      <search class="row home-search">
        <label>
          {t('Search', 'Suche')}
          <input
            type="search"
            placeholder={t('Group, room or device', 'Gruppe, Zimmer oder Gerät')}
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <Choice
          label={t('Show', 'Anzeigen')}
          value={filter}
          options={DEVICE_FILTERS.map((one): Option<DeviceFilter> => [one, filterNames()[one]])}
          onChange={setFilter}
        />
        <Counts home={home} silent={silent} />
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
      {tree.groups.map((node) => (
        <GroupSection key={node.group?.id ?? ''} {...node} />
      ))}
      {tree.loose.length > 0 && <LooseDevices devices={tree.loose} />}
      {tree.left > 0 && (
        <p>
          {tree.left === 1
            ? t('1 more device is not shown.', '1 weiteres Gerät wird nicht gezeigt.')
            : t(
                `${number(tree.left)} more devices are not shown.`,
                `${number(tree.left)} weitere Geräte werden nicht gezeigt.`,
              )}{' '}
          <button type="button" onClick={() => setMaxDevices(Number.POSITIVE_INFINITY)}>
            {t('Show all', 'Alle zeigen')}
          </button>
        </p>
      )}
    </>
  );
}

/** A component of its own: a device that connects draws only this line again. */
function Counts({ home, silent }: { readonly home: Home; readonly silent: ReadonlySet<string> }) {
  const countOf = (filter: DeviceFilter) =>
    home.devices.filter((device) => isShown(device, filter, silent)).length;
  const [offline, mute, never] = [countOf('offline'), countOf('silent'), countOf('never')];
  const { length } = home.devices;
  const texts = [
    length === 1 ? t('1 device', '1 Gerät') : t(`${length} devices`, `${length} Geräte`),
    offline > 0 && t(`${offline} offline`, `${offline} ohne Verbindung`),
    mute > 0 && t(`${mute} silent`, `${mute} verstummt`),
    never > 0 && t(`${never} never heard`, `${never} noch nie gehört`),
  ];
  return <p class="hint">{texts.filter((text) => text !== false).join(' · ')}</p>;
}

interface GroupSectionProps {
  readonly group: Group | undefined;
  readonly rooms: readonly { readonly room: Room; readonly devices: readonly Device[] }[];
}

function GroupSection({ group, rooms }: GroupSectionProps) {
  const { rights } = useThisHome();
  const name = group?.name ?? t('Without a group', 'Ohne Gruppe');
  return (
    <section class="home-group" aria-label={name}>
      <div class="row home-title">
        <h2>{name}</h2>
        {group !== undefined && rights.mayManageGroup(group.id) && (
          <EditButton edited={{ what: 'group', of: group }} />
        )}
      </div>
      {rooms.length === 0 && <p class="hint">{t('No rooms', 'Keine Zimmer')}</p>}
      <div class="home-rooms">
        {rooms.map(({ room, devices }) => (
          <section key={room.id} class="home-room card" aria-label={room.name}>
            <div class="home-head">
              <h3>{room.name}</h3>
              {rights.mayManageGroup(room.groupId) && (
                <EditButton edited={{ what: 'room', of: room }} />
              )}
            </div>
            {devices.length === 0 && <p class="hint">{t('No devices', 'Keine Geräte')}</p>}
            <DeviceRows devices={devices} />
          </section>
        ))}
      </div>
    </section>
  );
}

function LooseDevices({ devices }: { readonly devices: readonly Device[] }) {
  const name = t('Devices without a room', 'Geräte ohne Zimmer');
  return (
    <section class="home-group" aria-label={name}>
      <h2>{name}</h2>
      <div class="card home-loose">
        <DeviceRows devices={devices} />
      </div>
    </section>
  );
}
