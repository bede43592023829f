import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { Api } from '../../test/harness/clients/api.js';
import { GatewayProcess } from '../../test/harness/gateway/gateway-process.js';
import { RedisServer } from '../../test/harness/servers/redis-server.js';
import { seconds, table, times } from './report.js';
import { Cleanups } from './speed/cleanups.js';
import { AedesProcess } from './speed/contestants/aedes.js';

const SIZES = [10_000, 50_000] as const;
const PUBLISHERS = 5;
const IN_FLIGHT = 100;
const STALLED_AFTER_MS = 10_000;
/** Timeout of a drain: stock Aedes may need minutes. */
const GIVEN_UP_AFTER_MS = 45_000;
const TARGET_MS = 6_000;

/** A broker under test, with the connections of its publishers and its subscriber. */
interface Contender {
  readonly url: string;
  readonly publishers: readonly { readonly options: IClientOptions; readonly topic: string }[];
  readonly subscriber: IClientOptions;
  readonly filter: string;
  close(): Promise<void>;
}

interface Drained {
  readonly durationMs: number;
  /** How many messages were missing at the timeout. */
  readonly missing: number;
}

/** Measures how long one persistent subscriber needs for its backlog, compared with stock Aedes. */
export async function drain(): Promise<void> {
  const ours: Drained[] = [];
  const stock: Drained[] = [];
  for (const size of SIZES) {
    ours.push(await measure(await openGateway(), size));
    stock.push(await measure(await openStock(), size));
  }
  const rows = SIZES.map((size, at) => {
    const [own, theirs] = [ours[at], stock[at]];
    const ratio = durationOf(theirs) / durationOf(own);
    return [size.toLocaleString('en'), shown(own), shown(theirs), times(ratio)];
  });
  const growth = (all: readonly Drained[]) => times(durationOf(all[1]) / durationOf(all[0]));
  table('Draining a backlog to one persistent subscriber', [
    ['queued alarms', 'ours', 'stock Aedes', 'stock / ours'],
    ...rows,
    ['5 times as many take', growth(ours), growth(stock), ''],
  ]);
  const isMet = durationOf(ours[1]) <= TARGET_MS && ours[1]?.missing === 0;
  verdict(`50,000 in at most ${seconds(TARGET_MS)}`, isMet);
}

function durationOf(drained: Drained | undefined): number {
  return drained?.durationMs ?? Number.NaN;
}

function shown(drained: Drained | undefined): string {
  const missing = drained?.missing ?? 0;
  const rest = missing > 0 ? ` (${missing.toLocaleString('en')} still missing)` : '';
  return seconds(durationOf(drained)) + rest;
}

function verdict(target: string, isMet: boolean): void {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
}

async function measure(contender: Contender, size: number): Promise<Drained> {
  const absent = await mqtt.connectAsync(contender.url, contender.subscriber);
  await absent.subscribeAsync(contender.filter, { qos: 1 });
  await absent.endAsync();
  const share = size / contender.publishers.length;
  await Promise.all(contender.publishers.map((one) => publish(contender.url, one, share)));
  const drained = await receive(contender, size);
  await contender.close();
  return drained;
}

async function publish(
  url: string,
  { options, topic }: Contender['publishers'][number],
  count: number,
): Promise<void> {
  const client = await mqtt.connectAsync(url, options);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const payload = `{"kind":"fall","n":${next++}}`;
      await client.publishAsync(topic, payload, { qos: 1 });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  await client.endAsync();
}

/** Receives a backlog; measures from CONNECT to the last message. */
function receive({ url, subscriber }: Contender, size: number): Promise<Drained> {
  return new Promise((resolve) => {
    const begunMs = performance.now();
    let [count, lastMs] = [0, begunMs];
    const client: MqttClient = mqtt.connect(url, subscriber);
    const done = () => {
      clearInterval(watch);
      client.end(true);
      resolve({ durationMs: lastMs - begunMs, missing: size - count });
    };
    const watch = setInterval(() => {
      const nowMs = performance.now();
      const isOver = nowMs - begunMs > GIVEN_UP_AFTER_MS;
      if (isOver || nowMs - lastMs > STALLED_AFTER_MS) done();
    }, 500);
    client.on('message', () => {
      count++;
      lastMs = performance.now();
      if (count === size) done();
    });
  });
}

const SUBSCRIBER: IClientOptions = { clientId: 'nurse-call', clean: false, reconnectPeriod: 0 };

async function openGateway(): Promise<Contender> {
  const gateway = await GatewayProcess.start({ GATEWAY_SESSIONS_MAX_QUEUED_MESSAGES: '1000000' });
  const api = new Api(gateway);
  const { id: locationId } = await api.createLocation();
  const viewer = await api.viewer(locationId);
  const devices = await Promise.all(
    Array.from({ length: PUBLISHERS }, () => api.createDevice(locationId)),
  );
  return {
    url: gateway.mqttUrl,
    publishers: devices.map(({ id, secret }) => ({
      options: { username: id, password: secret },
      topic: `devices/${id}/alarms`,
    })),
    subscriber: { ...SUBSCRIBER, username: viewer.id, password: viewer.token },
    filter: `care-homes/${locationId}/#`.replace('#', 'devices/+/alarms/#'),
    close: () => gateway.remove(),
  };
}

async function openStock(): Promise<Contender> {
  // An advantage for stock Aedes: unlike our store, this one does not fsync every write.
  const redis = await RedisServer.start();
  const cleanups = new Cleanups();
  cleanups.onEnd(() => redis.remove());
  const aedes = new AedesProcess(cleanups, redis.socketPath);
  await aedes.start();
  return {
    url: `mqtt://127.0.0.1:${aedes.port}`,
    publishers: Array.from({ length: PUBLISHERS }, (_, at) => ({
      options: {},
      topic: `care-homes/x/devices/${at}/alarms/fall`,
    })),
    subscriber: SUBSCRIBER,
    filter: 'care-homes/x/devices/+/alarms/#',
    close: () => cleanups.run(),
  };
}
