import { Api } from '../../test/former/clients/api.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { LoadProcess } from '../../test/former/load-process.js';
import { NO_LIMITS } from '../../test/former/no-limits.js';
import { RedisPair } from '../../test/former/servers/redis-pair.js';
import { table } from './report.js';
import { Cleanups } from './speed/cleanups.js';

const DEVICES = 20;
const WINDOW = 25;
const WARM_UP_MS = 2_000;
const DURATION_MS = 6_000;
const RATE_PER_SECOND = 100;

interface Measured {
  readonly alarmsPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

/** Measures what `redis.replicas: 1` costs on the store of a pair, with all programs on this machine. */
export async function replicas(): Promise<void> {
  const counts = [0, 1, 0, 1];
  const measured: Measured[] = [];
  for (const count of counts) measured.push(await measure(count));
  table('Alarms at QoS 1 on a primary with a replica', [
    ['redis.replicas', 'alarms/s', `p50 at ${RATE_PER_SECOND}/s`, 'p99', 'max'],
    ...measured.map(({ alarmsPerSecond, latencyMs }, at) => [
      String(counts[at]),
      Math.round(alarmsPerSecond).toLocaleString('en'),
      ...[latencyMs.p50, latencyMs.p99, latencyMs.max].map((ms) => `${ms.toFixed(1)} ms`),
    ]),
  ]);
}

async function measure(count: number): Promise<Measured> {
  const cleanups = new Cleanups();
  try {
    const pair = await RedisPair.start();
    cleanups.onEnd(() => pair.remove());
    const gateway = await GatewayProcess.create(NO_LIMITS);
    cleanups.onEnd(() => gateway.remove());
    await gateway.configure({ redis: { ...pair.settings, replicas: count } });
    await gateway.start();
    const load = await openLoad(gateway);
    cleanups.onEnd(() => load.kill());
    const before = await load.offer({ window: WINDOW, durationMs: WARM_UP_MS });
    const { acknowledged } = await load.offer({ window: WINDOW, durationMs: DURATION_MS });
    const { readers } = await load.offer({
      window: WINDOW,
      durationMs: DURATION_MS,
      perSecond: RATE_PER_SECOND,
      tickMs: 1,
    });
    const latencyMs = readers[0]?.latencyMs ?? {
      p50: Number.NaN,
      p99: Number.NaN,
      max: Number.NaN,
    };
    return {
      alarmsPerSecond: ((acknowledged - before.acknowledged) * 1_000) / DURATION_MS,
      latencyMs,
    };
  } finally {
    await cleanups.run();
  }
}

/** Sensors of a home, and a nurse-call system that sees their alarms. */
async function openLoad(gateway: GatewayProcess): Promise<LoadProcess> {
  const api = new Api(gateway);
  const { id } = await api.createLocation();
  const viewer = await api.viewer(id);
  const devices = [];
  for (let at = 0; at < DEVICES; at++) devices.push(await api.createDevice(id, `Bed ${at}`));
  return LoadProcess.open({
    port: gateway.mqttPort,
    kind: 'falls',
    qos: 1,
    firstNumber: 10,
    devices: devices.map((device) => ({
      clientId: device.id,
      username: device.id,
      password: device.secret,
    })),
    readers: [{ clientId: 'nurse', username: viewer.id, password: viewer.token, isClean: true }],
    filter: `care-homes/${id}/devices/+/alarms/#`,
  });
}
