import type { ComponentChildren } from 'preact';
import type { Device } from '../../../api.js';
import { dateTime, t } from '../../../language.js';
import { TimeAgo } from '../../../ui/bits.js';
import { CopiedText } from '../../../ui/handover.js';
import type { Home } from '../home-data.js';
import { OnlineState } from '../online-state.js';
import type { Presence } from '../presence.js';

interface DeviceFactsProps {
  readonly home: Home;
  readonly device: Device;
  readonly presence: Presence;
}

/** Where a device is, whether it is online, and when it last sent something. */
export function DeviceFacts({ home, device, presence }: DeviceFactsProps) {
  const room = home.rooms.find(({ id }) => id === device.roomId);
  const group = home.groups.find(({ id }) => id === room?.groupId);
  const status = presence.of(device.id).value;
  const place = [group?.name, room?.name ?? t('No room', 'Kein Zimmer')].filter((part) => part);
  return (
    <dl class="home-facts">
      <Fact name={t('Place', 'Ort')}>{place.join(' · ')}</Fact>
      <Fact name={t('Connection', 'Verbindung')}>
        <OnlineState device={device} presence={presence} />
        {status?.online === true && (
          <> {t(`since ${dateTime(status.since)}`, `seit ${dateTime(status.since)}`)}</>
        )}
      </Fact>
      <Fact name={t('Last heard', 'Zuletzt gehört')}>
        {device.lastSeenAt === null ? t('Never', 'Nie') : <TimeAgo at={device.lastSeenAt} />}
      </Fact>
      <Fact name={t('Created', 'Angelegt')}>{dateTime(device.createdAt)}</Fact>
      <Fact name={t('Device id', 'Geräte-ID')}>
        <CopiedText text={device.id} label={t('Copy the device id', 'Geräte-ID kopieren')} />
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
