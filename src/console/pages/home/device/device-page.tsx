import { useEffect } from 'preact/hooks';
import type { Device } from '../../../api.js';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import type { Home } from '../home-data.js';
import { HomeFrame, type HomeParts } from '../home-frame.js';
import { HomeRights } from '../home-rights.js';
import { CustomDataEditor } from './custom-data-editor.js';
import { DeviceAlarms } from './device-alarms.js';
import { DeviceButtons } from './device-buttons.js';
import { DeviceFacts } from './device-facts.js';
import { DeviceMessages } from './device-messages.js';
import { useDeviceStream } from './device-stream.js';

interface DevicePageProps {
  readonly locationId: string;
  readonly deviceId: string;
}

/** One device: its place and state, its custom data, its messages and alarms, and its actions. */
export function DevicePage({ locationId, deviceId }: DevicePageProps) {
  const name = (home: Home | undefined) => home?.location.name ?? t('Home', 'Heim');
  return (
    <HomeFrame locationId={locationId} above={{ path: `/home/${locationId}`, name }}>
      {(parts) => {
        const device = parts.home.devices.find(({ id }) => id === deviceId);
        return device === undefined ? (
          <p>
            {t(
              'This device is not in this home, or not for you to see.',
              'Dieses Gerät ist nicht in diesem Heim, oder Sie dürfen es nicht sehen.',
            )}
          </p>
        ) : (
          <DeviceContent {...parts} device={device} />
        );
      }}
    </HomeFrame>
  );
}

interface DeviceContentProps extends HomeParts {
  readonly device: Device;
}

function DeviceContent({ home, device, presence, again, onIssued }: DeviceContentProps) {
  const { session } = useConsole();
  const rights = new HomeRights(session, home);
  const stream = useDeviceStream(device.locationId, device.id);
  const mayChange = rights.mayManageDevice(device);
  // Its own stream begins with the retained status, which tells since when it is online.
  useEffect(() => presence.listen(stream.feed), [presence, stream]);
  return (
    <>
      <h1>{device.name}</h1>
      {mayChange && (
        <DeviceButtons
          home={home}
          rights={rights}
          device={device}
          again={again}
          onIssued={onIssued}
        />
      )}
      <div class="home-columns">
        <div>
          <DeviceFacts home={home} device={device} presence={presence} />
          <CustomDataEditor
            locationId={device.locationId}
            deviceId={device.id}
            mayChange={mayChange}
          />
          <DeviceAlarms locationId={device.locationId} deviceId={device.id} feed={stream.feed} />
        </div>
        <DeviceMessages stream={stream} />
      </div>
    </>
  );
}
