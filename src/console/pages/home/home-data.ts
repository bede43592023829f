import { useEffect } from 'preact/hooks';
import {
  type Device,
  type Group,
  getLocation,
  type Location,
  listDevices,
  listGroups,
  listRooms,
  type Room,
} from '../../api.js';
import { type Loaded, useLoaded } from '../../ui/load.js';
import type { Presence } from './presence.js';

/** Everything in one home that the token may see. */
export interface Home {
  readonly location: Location;
  readonly groups: readonly Group[];
  readonly rooms: readonly Room[];
  readonly devices: readonly Device[];
}

/** Reads a home, and reads it again whenever someone returns to the page: others may have changed it. */
export function useHome(locationId: string, presence: Presence): Loaded<Home> {
  const home = useLoaded(async () => {
    const mark = presence.mark();
    const data = await readHome(locationId);
    presence.read(data.devices, mark);
    return data;
  }, [locationId]);
  useOnReturn(home.again);
  useEffect(() => presence.onMissed(home.again), [presence, home.again]);
  return home;
}

async function readHome(locationId: string): Promise<Home> {
  const [location, groups, rooms, devices] = await Promise.all([
    getLocation({ locationId }),
    listGroups({ locationId }),
    listRooms({ locationId }),
    listDevices({ locationId }),
  ]);
  return { location, groups, rooms, devices };
}

/** Calls back when the window gets the focus again. */
export function useOnReturn(onReturn: () => void): void {
  useEffect(() => {
    addEventListener('focus', onReturn);
    return () => removeEventListener('focus', onReturn);
  }, [onReturn]);
}
