import { Mosquitto } from '../../../../test/former/servers/mosquitto.js';
import type { Cleanups } from '../cleanups.js';
import { type Contestant, plainHome } from './contestant.js';

type Settings = Readonly<Record<string, string | number | boolean>>;

/** Stores nothing, and has room for everything that waits in a measure; the default is 20 in flight. */
const IN_MEMORY: Settings = {
  persistence: false,
  max_inflight_messages: 1_000,
  max_queued_messages: 1_000_000,
};

/** @param settings further lines of mosquitto.conf */
export async function startMosquitto(
  cleanups: Cleanups,
  settings: Settings = {},
): Promise<Mosquitto> {
  const mosquitto = await Mosquitto.create({ settings: { ...IN_MEMORY, ...settings } });
  cleanups.onEnd(() => mosquitto.remove());
  await mosquitto.start();
  return mosquitto;
}

export const MOSQUITTO: Contestant = {
  name: 'Mosquitto',
  start: async (devices, cleanups) => {
    const { port, processId } = await startMosquitto(cleanups);
    return { ...plainHome(devices), port, processIds: [processId] };
  },
};
