import { AEDES } from '../contestants/aedes.js';
import type { Contestant } from '../contestants/contestant.js';
import { GATEWAY } from '../contestants/gateway.js';
import { MOSQUITTO } from '../contestants/mosquitto.js';
import { DEVICES, openLoad } from '../loads.js';
import type { Measure, Trial } from '../measure.js';
import type { Scale } from '../scale.js';
import { SUSTAINED_METRICS, sustain } from '../sustain.js';

interface TelemetryCase {
  readonly name: string;
  readonly qos: 0 | 1;
  readonly isClean: boolean;
}

export const QOS_0: TelemetryCase = { name: 'QoS 0, clean subscriber', qos: 0, isClean: true };
export const QOS_1: TelemetryCase = { name: 'QoS 1, durable subscriber', qos: 1, isClean: false };

/** The gateway enriches telemetry; the others forward it unchanged. */
export const TELEMETRY: Measure = {
  name: 'telemetry',
  title: `Telemetry a second from ${DEVICES} devices to one subscriber`,
  metrics: SUSTAINED_METRICS,
  trials: (scale) =>
    [QOS_0, QOS_1].flatMap((one) =>
      contestants(scale).map((contestant) => trial(contestant, one, scale)),
    ),
};

function contestants({ isQuick }: Scale): readonly Contestant[] {
  return isQuick ? [GATEWAY, AEDES] : [GATEWAY, AEDES, MOSQUITTO];
}

function trial(contestant: Contestant, { name, qos, isClean }: TelemetryCase, scale: Scale): Trial {
  return {
    contestant: contestant.name,
    run: async (cleanups) => {
      const broker = await contestant.start(DEVICES, cleanups);
      const options = { kind: 'telemetry', qos, isClean, readers: 1 } as const;
      const load = await openLoad(broker, options, cleanups);
      // At QoS 0 only the readers show how much is under way.
      const underWayTo = qos === 0 ? 'readers' : 'acknowledgement';
      const found = await sustain(load, broker.processIds, scale, underWayTo);
      return [{ case: name, ...found }];
    },
  };
}
