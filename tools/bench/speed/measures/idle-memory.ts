import { setTimeout as delay } from 'node:timers/promises';
import { residentBytes } from '../../../../test/former/gateway/process-usage.js';
import { type Connecting, Connections } from '../connections.js';
import { AEDES } from '../contestants/aedes.js';
import type { Contestant, RestartableBroker } from '../contestants/contestant.js';
import { GATEWAY } from '../contestants/gateway.js';
import type { Measure, Trial } from '../measure.js';
import { kibibytes } from '../show.js';

const GENTLY: Connecting = { atATime: 200, timeoutMs: null, boundMs: 60_000 };
/** Time to collect the garbage that connecting or starting leaves behind. */
const SETTLING_MS = 2_000;
export const IDLE_CASE = 'idle';

/** Measures after a restart: otherwise connections would reuse memory left over from creating the devices. */
export const IDLE_MEMORY: Measure = {
  name: 'idle-memory',
  title: 'Memory of an idle connection of a device',
  metrics: [
    { key: 'bytesEach', title: 'all processes', better: 'less', show: kibibytes },
    { key: 'brokerBytesEach', title: 'broker alone', better: 'less', show: kibibytes },
  ],
  trials: ({ idleConnections }) =>
    [GATEWAY, AEDES].map((contestant) => trial(contestant, idleConnections)),
};

function trial(contestant: Contestant<RestartableBroker>, connections: number): Trial {
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(connections, cleanups);
      await broker.restart();
      const before = await settledBytes(broker);
      const { result } = await Connections.open(broker, GENTLY, cleanups);
      if (result.missing > 0) throw new Error(`${result.missing} did not get connected`);
      const after = await settledBytes(broker);
      const each = after.map((bytes, index) => (bytes - (before[index] ?? 0)) / connections);
      const bytesEach = each.reduce((sum, bytes) => sum + bytes, 0);
      return [{ case: IDLE_CASE, values: { bytesEach, brokerBytesEach: each[0] ?? Number.NaN } }];
    },
  };
}

/** The memory of each of its processes, after settling. */
async function settledBytes({ processIds }: RestartableBroker): Promise<number[]> {
  await delay(SETTLING_MS);
  return Promise.all(processIds.map(residentBytes));
}
