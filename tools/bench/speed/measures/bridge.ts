import type { Cleanups } from '../cleanups.js';
import { type Broker, plainHome } from '../contestants/contestant.js';
import { GATEWAY, GatewayBroker } from '../contestants/gateway.js';
import { MOSQUITTO, startMosquitto } from '../contestants/mosquitto.js';
import { DEVICES, openPlan, receivedBySlowest, reportWhen, WINDOW } from '../loads.js';
import type { Measure, Trial } from '../measure.js';
import type { Scale } from '../scale.js';
import { SUSTAINED_METRICS, sustain } from '../sustain.js';

/** The default of the gateway's bridges; Mosquitto's default is 20. */
const IN_FLIGHT = 100;
const CONNECTED_WITHIN_MS = 20_000;
const FIRST_ALARMS_MS = 200;
export const BRIDGE_CASE = 'one bridge';

/** A broker whose alarms go to a far Mosquitto. */
type StartBridged = (farPort: number, cleanups: Cleanups) => Promise<Broker>;

export const BRIDGE: Measure = {
  name: 'bridge',
  title: 'Alarms a second over a bridge to a far Mosquitto',
  metrics: SUSTAINED_METRICS,
  trials: (scale) => [
    trial(GATEWAY.name, startGateway, scale),
    trial(MOSQUITTO.name, startNearMosquitto, scale),
  ],
};

const startGateway: StartBridged = (farPort, cleanups) => {
  const bridge = { name: 'far', url: `mqtt://127.0.0.1:${farPort}`, send: 'alarms' };
  return GatewayBroker.start(DEVICES, cleanups, { bridges: [bridge] });
};

const startNearMosquitto: StartBridged = async (farPort, cleanups) => {
  const { port, processId } = await startMosquitto(cleanups, {
    max_inflight_messages: IN_FLIGHT,
    // The rest are settings of the connection.
    connection: 'far',
    address: `127.0.0.1:${farPort}`,
    topic: 'care-homes/# out 1',
    notifications: false,
  });
  return { ...plainHome(DEVICES), port, processIds: [processId] };
};

function trial(contestant: string, start: StartBridged, scale: Scale): Trial {
  return {
    contestant,
    run: async (cleanups) => {
      const far = await startMosquitto(cleanups);
      const near = await start(far.port, cleanups);
      const load = await openPlan(
        {
          port: near.port,
          kind: 'falls',
          qos: 1,
          firstNumber: 10,
          topic: near.falls.publish,
          filter: near.falls.filter,
          devices: [...near.devices],
          readers: [{ ...near.subscriber('reader-0'), isClean: true, port: far.port }],
        },
        cleanups,
      );
      // The first alarms come once the bridge is connected.
      await load.offer({ window: WINDOW, perSecond: DEVICES, durationMs: FIRST_ALARMS_MS });
      const first = await reportWhen(
        load,
        (report) => receivedBySlowest(report) > 0,
        CONNECTED_WITHIN_MS,
      );
      if (receivedBySlowest(first) === 0) throw new Error('nothing came over the bridge');
      // Only as much is under way as the bridge takes: an endless queue would say nothing about it.
      const found = await sustain(load, near.processIds, scale, 'readers');
      return [{ case: BRIDGE_CASE, ...found }];
    },
  };
}
