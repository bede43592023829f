import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { OwnRedis } from '../../test/chaos/faults/own-redis.js';
import { Api, type TestDevice } from '../../test/former/clients/api.js';
import { publishPacket, RawClient } from '../../test/former/clients/raw-client.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { LargeSite } from '../../test/former/large-site.js';
import { unusedPort } from '../../test/former/servers/unused-port.js';
import { milliseconds, quantile, table } from './report.js';

const AGAIN_AFTER_MS = 5;
/** Long enough for a standby to settle. */
const STOOD_BY_MS = 2_000;
const SESSIONS = 20;
const ALARMS = 1_000;

type Ending = 'SIGTERM' | 'SIGKILL';

/** Milliseconds since the serving gateway was told to end, or killed. */
interface Takeover {
  /** Until the other gateway has the lease. */
  readonly leaseMs: number;
  /** Until it reports that it serves. */
  readonly readyMs: number;
  /** Until it has acknowledged an alarm. */
  readonly acknowledgedMs: number;
}

interface Member {
  readonly gateway: GatewayProcess;
  readonly mqttPort: number;
}

/** Measures how long no gateway serves while one gateway of a pair takes over from the other. */
export async function takeover(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      devices: { type: 'string', default: '40,5000' },
      runs: { type: 'string', default: '10' },
    },
  });
  for (const devices of values.devices.split(',').map(Number)) {
    await measure(devices, Number(values.runs));
  }
}

async function measure(devices: number, runs: number): Promise<void> {
  const store = await OwnRedis.create();
  await store.start();
  const pair = [await memberOn(store), await memberOn(store)] as const;
  try {
    const [{ gateway }] = pair;
    await gateway.start();
    await LargeSite.make(gateway, {
      alarms: ALARMS,
      queued: ALARMS,
      devices,
      sessions: SESSIONS,
      values: 0,
    });
    const api = new Api(gateway);
    const sensor = await api.createDevice((await api.createLocation()).id);
    const rows: string[][] = [];
    for (const ending of ['SIGTERM', 'SIGKILL'] as const) {
      const takeovers: Takeover[] = [];
      for (let run = 0; run < runs; run++) {
        const [from, to] = run % 2 === 0 ? pair : [pair[1], pair[0]];
        takeovers.push(await takeOver(from, to, ending, sensor));
      }
      // Makes the first gateway serve again.
      if (runs % 2 === 1) await takeOver(pair[1], pair[0], ending, sensor);
      rows.push([ending, ...figuresOf(takeovers)]);
    }
    show(devices, runs, rows);
  } finally {
    await Promise.all(pair.map(({ gateway }) => gateway.remove()));
    await store.remove();
  }
}

async function memberOn(store: OwnRedis): Promise<Member> {
  const mqttPort = await unusedPort();
  const gateway = await GatewayProcess.create({
    GATEWAY_REDIS_URL: store.url,
    GATEWAY_MQTT_PORT: String(mqttPort),
  });
  return { gateway, mqttPort };
}

/** Makes the second gateway take over from the first, which serves. */
async function takeOver(
  { gateway: first }: Member,
  { gateway: second, mqttPort }: Member,
  ending: Ending,
  sensor: TestDevice,
): Promise<Takeover> {
  await second.startStandingBy();
  await delay(STOOD_BY_MS);
  const from = second.lines.length;
  const begunMs = performance.now();
  const since = () => performance.now() - begunMs;
  const ended = ending === 'SIGTERM' ? first.stop() : first.kill();
  const [leaseMs, readyMs, acknowledgedMs] = await Promise.all([
    second.logged('took the lease of the store', from).then(since),
    second.ready(from).then(since),
    acknowledgedBy(mqttPort, sensor).then(since),
    ended,
  ]);
  return { leaseMs, readyMs, acknowledgedMs };
}

/** Resolves once an alarm is acknowledged on the port; at first nothing may listen there. */
async function acknowledgedBy(mqttPort: number, sensor: TestDevice): Promise<void> {
  for (;;) {
    try {
      const client = await RawClient.connect({ mqttPort }, sensor);
      const alarm = publishPacket(`devices/${sensor.id}/alarms`, '{"kind":"fall"}');
      client.send({ ...alarm, qos: 1, messageId: 1 });
      await client.next('puback');
      client.vanish();
      return;
    } catch {
      await delay(AGAIN_AFTER_MS);
    }
  }
}

function figuresOf(takeovers: readonly Takeover[]): string[] {
  const of = (take: (takeover: Takeover) => number) => {
    const all = takeovers.map(take);
    return `${milliseconds(quantile(all, 0.5))} (${milliseconds(Math.max(...all))})`;
  };
  return [
    of(({ leaseMs }) => leaseMs),
    of(({ readyMs }) => readyMs),
    of(({ acknowledgedMs }) => acknowledgedMs),
  ];
}

function show(devices: number, runs: number, rows: readonly string[][]): void {
  const title =
    `A takeover with ${devices.toLocaleString('en')} devices, from the end of the gateway that served: ` +
    `median and longest of ${runs}`;
  table(title, [['ended by', 'lease taken', 'ready', 'an alarm acknowledged'], ...rows]);
}
