import { useState } from 'preact/hooks';
import { type Device, replaceDeviceSecret } from '../../../api.js';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import type { HomeAction } from '../home-action.js';
import type { Home } from '../home-data.js';
import { HomeDialog } from '../home-dialogs.js';
import type { HomeRights } from '../home-rights.js';
import type { IssuedDevice } from '../issued/issue-device.js';
import { TestAlarmDialog } from './test-alarm-dialog.js';

interface DeviceButtonsProps {
  readonly home: Home;
  readonly rights: HomeRights;
  readonly device: Device;
  readonly again: () => void;
  readonly onIssued: (device: IssuedDevice) => void;
}

type Asked = HomeAction | { readonly type: 'new-secret' } | { readonly type: 'test-alarm' };

/** What a manager can do with a device. */
export function DeviceButtons({ home, rights, device, again, onIssued }: DeviceButtonsProps) {
  const { routing } = useConsole();
  const [asked, setAsked] = useState<Asked>();
  const [said, setSaid] = useState('');
  const named = { kind: 'device', id: device.id, name: device.name } as const;
  const close = () => setAsked(undefined);
  const done = (text: string) => {
    close();
    setSaid(text);
    if (asked?.type === 'remove') routing.go(`/home/${device.locationId}`);
    else again();
  };
  const issue = (issued: IssuedDevice) => {
    close();
    onIssued(issued);
  };
  const button = (text: string, action: Asked, isDangerous = false) => (
    <button
      type="button"
      class={isDangerous ? 'danger' : undefined}
      onClick={() => setAsked(action)}
    >
      {text}
    </button>
  );
  return (
    <>
      <div class="buttons">
        {button(t('Send a test alarm', 'Testalarm senden'), { type: 'test-alarm' })}
        {button(t('Rename', 'Umbenennen'), { type: 'rename', named })}
        {button(t('Move', 'Verschieben'), { type: 'move-device', device })}
        {button(t('New secret', 'Neues Geheimnis'), { type: 'new-secret' })}
        {button(t('Delete', 'Löschen'), { type: 'remove', named }, true)}
      </div>
      <p role="status" class="home-said">
        {said}
      </p>
      {asked?.type === 'new-secret' && (
        <NewSecretDialog home={home} device={device} onDone={issue} onClose={close} />
      )}
      {asked?.type === 'test-alarm' && (
        <TestAlarmDialog device={device} onDone={done} onClose={close} />
      )}
      {asked !== undefined && asked.type !== 'new-secret' && asked.type !== 'test-alarm' && (
        <HomeDialog
          action={asked}
          home={home}
          rights={rights}
          onDone={done}
          onIssued={issue}
          onClose={close}
        />
      )}
    </>
  );
}

interface NewSecretDialogProps {
  readonly home: Home;
  readonly device: Device;
  readonly onDone: (device: IssuedDevice) => void;
  readonly onClose: () => void;
}

function NewSecretDialog({ home, device, onDone, onClose }: NewSecretDialogProps) {
  const { id, name, locationId } = device;
  return (
    <ChangeDialog
      title={t(`A new secret for ${name}?`, `Neues Geheimnis für ${name}?`)}
      submit={t('Make a new secret', 'Neues Geheimnis erzeugen')}
      isDangerous
      request={() => replaceDeviceSecret({ locationId, deviceId: id })}
      onDone={({ secret }) => {
        const roomName = home.rooms.find((room) => room.id === device.roomId)?.name;
        onDone({ id, name, secret, roomName, moveFailure: undefined });
      }}
      onClose={onClose}
    >
      <p>
        {t(
          'The old secret stops working at once, and the device is disconnected. It must then be set up again. Place, name and history stay.',
          'Das alte Geheimnis gilt sofort nicht mehr, und die Verbindung wird getrennt. Das Gerät muss danach neu eingerichtet werden. Ort, Name und Verlauf bleiben.',
        )}
      </p>
    </ChangeDialog>
  );
}
