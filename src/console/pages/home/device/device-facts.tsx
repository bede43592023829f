import type { ComponentChildren } from 'preact';
import type { Device } from '../../../api.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { CopiedText } from '../../../ui/copied-text.js';
import { dateTime, TimeAgo } from '../../../ui/time-ago.js';
import type { Home } from '../home-data.js';
import { HOME_WORDS } from '../home-words.js';
import { OnlineState } from '../online-state.js';
import type { Presence } from '../presence.js';
import { DEVICE_WORDS } from './device-words.js';

interface DeviceFactsProps {
  readonly home: Home;
  readonly device: Device;
  readonly presence: Presence;
}

/** Where a device is, whether it is online, and when it last sent something. */
export function DeviceFacts({ home, device, presence }: DeviceFactsProps) {
  const { language } = useConsole();
  const words = useWords(DEVICE_WORDS);
  const homeWords = useWords(HOME_WORDS);
  const room = home.rooms.find(({ id }) => id === device.roomId);
  const group = home.groups.find(({ id }) => id === room?.groupId);
  const status = presence.of(device.id).value;
  const place = [group?.name, room?.name ?? homeWords.noRoomChoice].filter((part) => part);
  return (
    <dl class="home-facts">
      <Fact name={words.place}>{place.join(' · ')}</Fact>
      <Fact name={words.state}>
        <OnlineState device={device} presence={presence} />
        {status?.online === true && (
          <> {words.since(dateTime(status.since, language.current.value))}</>
        )}
      </Fact>
      <Fact name={words.lastSeen}>
        {device.lastSeenAt === null ? words.never : <TimeAgo at={device.lastSeenAt} />}
      </Fact>
      <Fact name={words.created}>{dateTime(device.createdAt, language.current.value)}</Fact>
      <Fact name={words.id}>
        <CopiedText text={device.id} label={words.copyId} />
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
