/** The hubs of a home: which devices are heard through each, how many are online or silent, and when one was last heard. */

import type { Device } from '../api.js';
import { t } from '../language.js';
import { Facts, TimeAgo } from '../ui/bits.js';
import { DeviceRows } from './devices.js';
import { HomeFrame, useThisHome } from './frame.js';
import { presenceNow, sorted } from './home.js';

export function HubsPage({ locationId }: { readonly locationId: string }) {
  return (
    <HomeFrame locationId={locationId} isBelow>
      <h1>{t('Hubs', 'Hubs')}</h1>
      <p class="hint">
        {t(
          'A hub is an access token that publishes for devices. Its devices are online while the hub is connected and they are not silent.',
          'Ein Hub ist ein Zugangstoken, der für Geräte sendet. Seine Geräte sind verbunden, solange der Hub verbunden ist und sie nicht verstummt sind.',
        )}
      </p>
      <Hubs />
    </HomeFrame>
  );
}

function Hubs() {
  const { home } = useThisHome();
  const hubs = hubsOf(home.devices);
  if (hubs.length === 0) {
    return (
      <p>
        {t('No device was heard through a hub.', 'Noch kein Gerät wurde über einen Hub gehört.')}
      </p>
    );
  }
  return hubs.map((hub) => <HubSection key={hub.id} {...hub} />);
}

interface Hub {
  readonly id: string;
  readonly name: string;
  readonly devices: readonly Device[];
}

/** By the hub through which each device was last heard: as listed, or told since by the stream. */
function hubsOf(devices: readonly Device[]): readonly Hub[] {
  const hubs = new Map<string, { id: string; name: string; devices: Device[] }>();
  for (const device of sorted(devices)) {
    const { via } = presenceNow(device);
    if (via === undefined) continue;
    const hub = hubs.get(via.id) ?? { ...via, devices: [] };
    hub.devices.push(device);
    hubs.set(via.id, hub);
  }
  return sorted([...hubs.values()]);
}

function HubSection({ name, devices }: Hub) {
  const { silent } = useThisHome();
  const online = devices.filter((device) => presenceNow(device).state === 'online').length;
  const mute = devices.filter(({ id }) => silent.has(id)).length;
  const lastHeardAt = devices
    .flatMap(({ lastSeenAt }) => lastSeenAt ?? [])
    .sort()
    .at(-1);
  return (
    <section class="home-group card" aria-label={name}>
      <h2>{name}</h2>
      <Facts
        of={[
          [
            t('Online', 'Verbunden'),
            <span key="online" class={online < devices.length ? 'bad' : 'good'}>
              {t(`${online} of ${devices.length}`, `${online} von ${devices.length}`)}
            </span>,
          ],
          [
            t('Silent', 'Verstummt'),
            <span key="silent" class={mute > 0 ? 'bad' : ''}>
              {mute === 0 ? t('none', 'keine') : mute}
            </span>,
          ],
          [
            t('Last heard', 'Zuletzt gehört'),
            lastHeardAt && <TimeAgo key="heard" at={lastHeardAt} />,
          ],
        ]}
      />
      <DeviceRows devices={devices} />
    </section>
  );
}
