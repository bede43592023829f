/** The page of a device: its place and connection, its alarms, messages and custom data, and what can be done with it. */

import { type Device, listDeviceAlarms } from '../api.js';
import { KindIcon, KindName } from '../kinds.js';
import { dateTime, t } from '../language.js';
import { hrefTo } from '../place.js';
import { Facts, FailureText, TimeAgo } from '../ui/bits.js';
import { openDialog } from '../ui/dialog.js';
import { CopiedText } from '../ui/handover.js';
import { useLoaded } from '../ui/load.js';
import { CustomDataEditor } from './custom-data.js';
import { NewSecretDialog, TestAlarmDialog } from './device-dialogs.js';
import { EditButton, PresenceText } from './devices.js';
import { HomeFrame, useThisHome } from './frame.js';
import { presenceNow, topicPattern } from './home.js';
import { DeviceMessages, type DeviceStream, useDeviceStream } from './messages.js';
import { SilenceDialog, silenceText } from './silence.js';

interface DevicePageProps {
  readonly locationId: string;
  readonly deviceId: string;
}

export function DevicePage({ locationId, deviceId }: DevicePageProps) {
  return (
    <HomeFrame locationId={locationId} isBelow>
      <FoundDevice deviceId={deviceId} />
    </HomeFrame>
  );
}

function FoundDevice({ deviceId }: { readonly deviceId: string }) {
  const { home } = useThisHome();
  const device = home.devices.find(({ id }) => id === deviceId);
  if (device !== undefined) return <DeviceContent device={device} />;
  return (
    <p>
      {t(
        'This device is not in this home, or your token may not see it.',
        'Dieses Gerät ist nicht in diesem Heim, oder Sie dürfen es nicht sehen.',
      )}
    </p>
  );
}

function DeviceContent({ device }: { readonly device: Device }) {
  const { rights } = useThisHome();
  const stream = useDeviceStream(device.locationId, device.id);
  const mayChange = rights.mayManageDevice(device);
  return (
    <>
      <div class="row home-title">
        <h1>{device.name}</h1>
        {mayChange && <EditButton edited={{ what: 'device', of: device }} />}
      </div>
      {mayChange && <DeviceButtons device={device} />}
      <div class="home-columns">
        <div>
          <DeviceFacts device={device} stream={stream} />
          <DeviceAlarms device={device} />
          <CustomDataEditor
            locationId={device.locationId}
            deviceId={device.id}
            mayChange={mayChange}
          />
        </div>
        <DeviceMessages stream={stream} />
      </div>
    </>
  );
}

function DeviceButtons({ device }: { readonly device: Device }) {
  const { home, done, showSecret } = useThisHome();
  return (
    <div class="row home-tools">
      <button
        type="button"
        onClick={() => openDialog(<TestAlarmDialog device={device} onDone={done} />)}
      >
        {t('Send a test alarm', 'Testalarm senden')}
      </button>
      <button
        type="button"
        onClick={() => openDialog(<SilenceDialog home={home} device={device} onChanged={done} />)}
      >
        {t('Silence time', 'Erlaubte Funkstille')}
      </button>
      <button
        type="button"
        onClick={() =>
          openDialog(
            <NewSecretDialog
              device={device}
              onDone={(secret) => {
                const { id, name, roomId } = device;
                const roomName = home.rooms.find((room) => room.id === roomId)?.name;
                showSecret({ id, name, secret, roomName, moveFailure: undefined });
              }}
            />,
          )
        }
      >
        {t('New secret', 'Neues Geheimnis')}
      </button>
    </div>
  );
}

interface DeviceFactsProps {
  readonly device: Device;
  readonly stream: DeviceStream;
}

/** Where a device is, whether it is online, and when it was last heard. */
function DeviceFacts({ device, stream }: DeviceFactsProps) {
  const { home, silent } = useThisHome();
  const room = home.rooms.find(({ id }) => id === device.roomId);
  const group = home.groups.find(({ id }) => id === room?.groupId);
  const place = [group?.name, room?.name ?? t('No room', 'Kein Zimmer')];
  // What has come since is newer than the list.
  const lastSeenAt = stream.heardAt.value ?? device.lastSeenAt;
  const heard = { ...device, lastSeenAt };
  const { state, since } = presenceNow(heard);
  return (
    <Facts
      of={[
        [t('Place', 'Ort'), place.filter((part) => part !== undefined).join(' · ')],
        [
          t('Connection', 'Verbindung'),
          <PresenceText key="connection" device={heard} isSilent={silent.has(device.id)} isShort />,
        ],
        [
          state === 'online'
            ? t('Online since', 'Verbunden seit')
            : t('Offline since', 'Getrennt seit'),
          since && dateTime(since),
        ],
        [
          t('Last heard', 'Zuletzt gehört'),
          lastSeenAt === null ? t('Never', 'Nie') : <TimeAgo key="heard" at={lastSeenAt} />,
        ],
        [t('Silent after', 'Verstummt nach'), silenceText(device)],
        [t('Created', 'Angelegt'), dateTime(device.createdAt)],
        [
          t('Device id', 'Geräte-ID'),
          <CopiedText
            key="id"
            text={device.id}
            label={t('Copy the device id', 'Geräte-ID kopieren')}
          />,
        ],
      ]}
    />
  );
}

const SHOWN_ALARMS = 10;
/** A sensor may chatter. */
const AT_MOST_EVERY_MS = 2_000;

/** A device's newest alarms, with a link to all of them. */
function DeviceAlarms({ device: { id, locationId } }: { readonly device: Device }) {
  const alarms = useLoaded(
    () => listDeviceAlarms({ locationId, deviceId: id }, { limit: SHOWN_ALARMS }),
    [locationId, id],
    {
      onReturn: true,
      onTopic: topicPattern(locationId, id, 'alarms/'),
      atMostEveryMs: AT_MOST_EVERY_MS,
    },
  );
  const events = alarms.data?.events ?? [];
  return (
    <section aria-label={t('Newest alarms', 'Neueste Alarme')}>
      <h2>{t('Newest alarms', 'Neueste Alarme')}</h2>
      <FailureText failure={alarms.failure} onRetry={alarms.again} />
      {alarms.data !== undefined && events.length === 0 && (
        <p>{t('There has been no alarm.', 'Es gab noch keinen Alarm.')}</p>
      )}
      <ul class="plain home-alarms">
        {events.map((event) => (
          <li key={event.id} class="row">
            <KindIcon kind={event.kind} />
            <KindName kind={event.kind} />
            <span class="hint">
              {dateTime(event.detectedAt)} · <TimeAgo at={event.detectedAt} />
            </span>
          </li>
        ))}
      </ul>
      <p>
        <a href={hrefTo('/history', { location: locationId, device: id })}>
          {t('All of them in the history', 'Alle im Verlauf')}
        </a>
      </p>
    </section>
  );
}
