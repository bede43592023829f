/**
 * Which sensors are offline, from their statuses on the live feed, and which are silent.
 *
 * Only a device that was heard has a status: one that is still in its box is not missing, and one behind a hub is online
 * while its hub is. All statuses come each time the feed opens.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import { type Location, listSilentDevices, type Named, type SilentDevice } from '../api.js';
import { type LiveMessage, live } from '../live.js';
import { type Loaded, useLoaded } from '../ui/load.js';
import { namedOf, sortOf } from './alarm.js';
import { openAlarms } from './open-alarms.js';

/** A device's newest status. */
export interface Status {
  readonly device: Named;
  readonly locationId: string;
  readonly room: Named | null;
  readonly group: Named | null;
  readonly isOnline: boolean;
}

/** Three hundred statuses come at once as the feed opens. */
const DRAW_AFTER_MS = 100;

const known = new Map<string, Status>();
const shown = signal<readonly Status[]>([]);

/** The statuses of all devices that have one. */
export const statuses: ReadonlySignal<readonly Status[]> = shown;

/** Follows the statuses. @returns a function that ends it and forgets them */
export function followStatuses(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    timer = undefined;
    shown.value = [...known.values()];
  };
  const message = ({ topic, payload }: LiveMessage) => {
    const [, locationId = ''] = topic.split('/');
    const device = namedOf(payload['device']);
    if (sortOf(topic) !== 'status' || device === null) return;
    const isOnline = payload['online'] === true;
    const [room, group] = [namedOf(payload['room']), namedOf(payload['group'])];
    known.set(device.id, { device, locationId, room, group, isOnline });
    openAlarms.readHomeOf(locationId, device.id);
    timer ??= setTimeout(draw, DRAW_AFTER_MS);
  };
  const endListening = live.listen({ message, missed: () => undefined });
  return () => {
    endListening();
    clearTimeout(timer);
    known.clear();
    draw();
  };
}

/** The statuses of a home's sensors, without those of devices that were deleted or moved since. */
export function statusesOf({ id, devices }: Location): readonly Status[] {
  const there = new Set(devices);
  return statuses.value.filter(({ locationId, device }) => {
    return locationId === id && there.has(device.id);
  });
}

const RETRY_MS = 10_000;

/** The silent sensors of the homes: their alarms might not arrive either. */
export function useSilentSensors(homes: readonly Location[]): Loaded<SilentDevice[]> {
  const read = () => Promise.all(homes.map(({ id }) => listSilentDevices({ locationId: id })));
  return useLoaded(async () => (await read()).flat(), [homes.map(({ id }) => id).join()], {
    onTopic: /\/supervision$/,
    retryMs: RETRY_MS,
  });
}

/** A sensor by its name, and the room in which it is. */
export function sensorName({ device, room }: Pick<Status, 'device' | 'room'>): string {
  return room === null ? device.name : `${device.name} (${room.name})`;
}
