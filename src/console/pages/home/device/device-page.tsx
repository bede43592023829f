import { useEffect, useState } from 'preact/hooks';
import type { Device } from '../../../api/generated.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { hrefTo } from '../../../routing.js';
import { FailureText } from '../../../ui/failure-text.js';
import { type Home, useHome } from '../home-data.js';
import { HomeRights } from '../home-rights.js';
import { HOME_WORDS } from '../home-words.js';
import type { IssuedDevice } from '../issued/issue-device.js';
import { IssuedDevices } from '../issued/issued-devices.js';
import { type Presence, usePresence } from '../presence.js';
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

/** One device: its place and state, its custom data, its messages and alarms, and what can be done with it. */
export function DevicePage({ locationId, deviceId }: DevicePageProps) {
  const words = useWords(HOME_WORDS);
  const presence = usePresence(locationId);
  const { data, failure, isPending, again } = useHome(locationId, presence);
  const [issued, setIssued] = useState<IssuedDevice>();
  const device = data?.devices.find(({ id }) => id === deviceId);
  if (issued !== undefined && data !== undefined) {
    return (
      <IssuedDevices
        devices={[issued]}
        homeName={data.location.name}
        onDone={() => setIssued(undefined)}
      />
    );
  }
  return (
    <>
      <p>
        <a href={hrefTo(`/home/${locationId}`)}>{data?.location.name ?? words.home}</a>
      </p>
      <FailureText failure={failure} onRetry={again} />
      {data === undefined && isPending && <p role="status">{words.loading}</p>}
      {data !== undefined && device === undefined && <p>{words.noDevice}</p>}
      {data !== undefined && device !== undefined && (
        <DeviceContent
          home={data}
          device={device}
          presence={presence}
          again={again}
          onIssued={setIssued}
        />
      )}
    </>
  );
}

interface DeviceContentProps {
  readonly home: Home;
  readonly device: Device;
  readonly presence: Presence;
  readonly again: () => void;
  readonly onIssued: (device: IssuedDevice) => void;
}

function DeviceContent({ home, device, presence, again, onIssued }: DeviceContentProps) {
  const { session } = useConsole();
  const rights = new HomeRights(session, home);
  const stream = useDeviceStream(device.locationId, device.id);
  const mayChange = rights.mayManageDevice(device);
  // Its own stream begins with the retained status, which says since when it is online.
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
