import { processorMs } from '../../test/harness/program.js';
import { type Broker, CONTESTANTS } from './contestants.js';
import {
  type Figure,
  type Measure,
  planOf,
  receivedBySlowest,
  type Scale,
  withLoad,
} from './measure.js';

/** How many publishes of one device are under way at a time. */
const WINDOW = 10;
const WARM_UP_PART = 0.25;

const CASES = [
  { name: 'alarms, 1 durable', options: {} },
  { name: 'alarms, 5 durable', options: { readers: 5 } },
  { name: 'values at QoS 0', options: { kind: 'telemetry', qos: 0, isClean: true } },
] as const;

/** What the slowest subscriber receives per second while every device has its window under way. */
export const SUSTAINED: Measure = {
  name: 'sustained',
  title: 'Messages a second from 50 devices to the slowest subscriber',
  contestants: CONTESTANTS,
  runs: CASES.map(
    ({ name, options }) =>
      (broker, scale) =>
        sustain(broker, name, options, scale),
  ),
};

async function sustain(
  broker: Broker,
  name: string,
  options: Parameters<typeof planOf>[1],
  { seconds }: Scale,
): Promise<Figure[]> {
  return withLoad(planOf(broker, options), async (load) => {
    const measuredMs = seconds * 1_000;
    // A subscriber at QoS 0 says nothing: there the window extends to it, or the socket would be the only limit.
    const underWayTo = options?.qos === 0 ? 'readers' : 'acknowledgement';
    const window = options?.qos === 0 ? WINDOW * 10 : WINDOW;
    const before = await load.offer({ window, underWayTo, durationMs: measuredMs * WARM_UP_PART });
    const usedBeforeMs = await usedMs(broker);
    const begunMs = performance.now();
    const after = await load.offer({ window, underWayTo, durationMs: measuredMs });
    const tookMs = performance.now() - begunMs;
    const received = receivedBySlowest(after) - receivedBySlowest(before);
    const eachMicroseconds = (((await usedMs(broker)) - usedBeforeMs) * 1_000) / received;
    return [
      { title: name, value: (received * 1_000) / tookMs, unit: '/s', better: 'more' },
      { title: `${name}, processor`, value: eachMicroseconds, unit: 'µs', better: 'less' },
    ];
  });
}

async function usedMs(broker: Broker): Promise<number> {
  const times = await Promise.all(broker.processIds().map(processorMs));
  return times.reduce((sum, ms) => sum + ms, 0);
}
