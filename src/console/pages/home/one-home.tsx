import { useCallback, useMemo, useState } from 'preact/hooks';
import { moveDevice, updateRoom } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { focusHeading } from '../../shell.js';
import { FailureText } from '../../ui/bits.js';
import { useChange } from '../../ui/load.js';
import { ActionMenu, actionsFor } from './action-menu.js';
import type { Dragged } from './drag.js';
import { createdText, type HomeAction, movedText } from './home-action.js';
import type { Home } from './home-data.js';
import { HomeDialog } from './home-dialogs.js';
import { HomeFrame, type HomeParts } from './home-frame.js';
import { HomeRights } from './home-rights.js';
import { SearchedTree } from './searched-tree.js';

/** One home: its groups, rooms and devices, and their actions. */
export function OneHome({ locationId }: { readonly locationId: string }) {
  return (
    <HomeFrame
      locationId={locationId}
      above={{ path: '/home', name: () => t('All homes', 'Alle Heime') }}
    >
      {(parts) => <HomeContent {...parts} />}
    </HomeFrame>
  );
}

function HomeContent({ home, presence, again, onIssued }: HomeParts) {
  const { session, routing } = useConsole();
  const [action, setAction] = useState<HomeAction>();
  const [said, setSaid] = useState('');
  const change = useChange();
  const rights = useMemo(() => new HomeRights(session, home), [session, home]);
  const onAction = useCallback((wanted: HomeAction) => setAction(wanted), []);
  const done = (text: string) => {
    setAction(undefined);
    setSaid(text);
    again();
    const isRemoved = action?.type === 'remove';
    if (isRemoved && action.named.kind === 'location') routing.go('/home');
    // The button with the focus disappears with what was deleted.
    else if (isRemoved) focusHeading();
  };
  const drop = ({ kind, id }: Dragged, targetId: string | null) => {
    const device = kind === 'device' ? home.devices.find((one) => one.id === id) : undefined;
    const room = kind === 'room' ? home.rooms.find((one) => one.id === id) : undefined;
    const locationId = home.location.id;
    if (device !== undefined && device.roomId !== targetId) {
      change.send(
        () => moveDevice({ locationId, deviceId: device.id }, { targetRoomId: targetId }),
        () => done(movedText(device.name)),
      );
    }
    if (room !== undefined && room.groupId !== targetId) {
      change.send(
        () => updateRoom({ locationId, roomId: room.id }, { groupId: targetId }),
        () => done(movedText(room.name)),
      );
    }
  };
  return (
    <>
      <HomeHead home={home} rights={rights} onAction={onAction} />
      <p role="status" class="home-said">
        {said}
      </p>
      <FailureText failure={change.failure} />
      <SearchedTree
        home={home}
        rights={rights}
        presence={presence}
        onAction={onAction}
        onDrop={drop}
      />
      {action !== undefined && (
        <HomeDialog
          action={action}
          home={home}
          rights={rights}
          onDone={done}
          onIssued={(device) => {
            done(createdText(device.name));
            onIssued(device);
          }}
          onClose={() => {
            setAction(undefined);
            // After a refusal the page may be out of date.
            again();
          }}
        />
      )}
    </>
  );
}

interface HomeHeadProps {
  readonly home: Home;
  readonly rights: HomeRights;
  readonly onAction: (action: HomeAction) => void;
}

function HomeHead({ home, rights, onAction }: HomeHeadProps) {
  const { session } = useConsole();
  const { id, name } = home.location;
  const named = { kind: 'location', id, name } as const;
  const mayMakeRooms = rights.mayManageHome || rights.targetGroups().length > 0;
  const rename = {
    text: t('Rename', 'Umbenennen'),
    choose: () => onAction({ type: 'rename', named }),
  };
  const removal = {
    text: t('Delete', 'Löschen'),
    isDangerous: true,
    choose: () => onAction({ type: 'remove', named }),
  };
  return (
    <div class="home-head">
      <h1>{name}</h1>
      <ActionMenu
        label={actionsFor(name)}
        items={[
          ...(rights.mayManageHome ? [rename] : []),
          ...(rights.mayRemoveHome ? [removal] : []),
        ]}
      />
      <div class="buttons">
        {rights.mayManageHome && (
          <button type="button" onClick={() => onAction({ type: 'create-group' })}>
            {t('New group', 'Neue Gruppe')}
          </button>
        )}
        {mayMakeRooms && (
          <button type="button" onClick={() => onAction({ type: 'create-room', groupId: null })}>
            {t('New room', 'Neues Zimmer')}
          </button>
        )}
        {rights.mayManageHome && (
          <>
            <button
              type="button"
              class="primary"
              onClick={() => onAction({ type: 'create-device', roomId: null })}
            >
              {t('New device', 'Neues Gerät')}
            </button>
            <a href={hrefTo(`/home/${id}/import`)}>
              {t('Many devices from a CSV', 'Viele Geräte aus einer CSV-Datei')}
            </a>
          </>
        )}
        {session.may('viewer', id, null) && (
          <a href={hrefTo(`/home/${id}/drills`)}>{t('Drills', 'Probealarme')}</a>
        )}
      </div>
    </div>
  );
}
