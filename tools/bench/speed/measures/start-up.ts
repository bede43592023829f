import { GatewayProcess } from '../../../../test/former/gateway/gateway-process.js';
import { Mosquitto } from '../../../../test/former/servers/mosquitto.js';
import type { Cleanups } from '../cleanups.js';
import { AEDES, AedesProcess } from '../contestants/aedes.js';
import { GATEWAY } from '../contestants/gateway.js';
import { MOSQUITTO } from '../contestants/mosquitto.js';
import type { Measure, Outcome, Trial } from '../measure.js';
import { duration } from '../show.js';

/** Resolves to a function that starts the contestant and resolves when it serves. */
type Prepare = (cleanups: Cleanups) => Promise<() => Promise<void>>;

/** For the start with a full store, see `history`. */
export const START_UP: Measure = {
  name: 'start-up',
  title: 'From the spawn to serving, with nothing stored',
  metrics: [{ key: 'readyMs', title: 'ready after', better: 'less', show: duration }],
  trials: () => [
    trial(GATEWAY.name, async (cleanups) => {
      const gateway = await GatewayProcess.create();
      cleanups.onEnd(() => gateway.remove());
      return () => gateway.start();
    }),
    trial(AEDES.name, async (cleanups) => {
      const aedes = new AedesProcess(cleanups);
      return () => aedes.start();
    }),
    trial(MOSQUITTO.name, async (cleanups) => {
      const mosquitto = await Mosquitto.create();
      cleanups.onEnd(() => mosquitto.remove());
      return () => mosquitto.start();
    }),
  ],
};

function trial(contestant: string, prepare: Prepare): Trial {
  return {
    contestant,
    run: async (cleanups): Promise<Outcome[]> => {
      const start = await prepare(cleanups);
      const begunMs = performance.now();
      await start();
      return [{ case: 'empty', values: { readyMs: performance.now() - begunMs } }];
    },
  };
}
