import { AEDES, GATEWAY } from './contestants.js';
import { type Measure, planOf, withLoad } from './measure.js';

const DEVICES = 2_000;

/** From the restart of the broker until the last of all devices, which connect at once, has its CONNACK. */
export const RECONNECT: Measure = {
  name: 'reconnect',
  title: `${DEVICES.toLocaleString('en')} devices reconnect at once`,
  contestants: [GATEWAY, AEDES],
  devices: DEVICES,
  runs: [
    (broker) =>
      withLoad({ ...planOf(broker), devices: [...broker.devices], readers: [] }, async (load) => {
        await load.powerOff();
        await broker.restart();
        const begunMs = performance.now();
        await load.powerOn();
        const tookMs = performance.now() - begunMs;
        return [{ title: 'all are back after', value: tookMs / 1_000, unit: 's', better: 'less' }];
      }),
  ],
};
