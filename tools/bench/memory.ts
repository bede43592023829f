import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { MqttClient } from 'mqtt';
import { Api, type TestDevice } from '../../test/former/clients/api.js';
import { connect, connectDevice } from '../../test/former/clients/mqtt-clients.js';
import { GatewayProcess } from '../../test/former/gateway/gateway-process.js';
import { AedesUpstream } from '../../test/former/servers/aedes-upstream.js';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const TICK_MS = 100;
const DEVICES = 50;
const ALARMS_PER_SECOND = 30;
/** Devices that publish a retained value each second. */
const TELEMETRY_DEVICES = 40;
const NOTE = 'The resident has left the bed and has not come back. '.repeat(5);
/** Until then, caches fill and code is compiled. */
const LEVEL_FROM_MINUTE = 5;
const MAX_GROWTH_MIB_PER_MINUTE = 0.5;
const MAX_RESIDENT_MIB = 200;
const COLUMNS = {
  resident: 'process_resident_memory_bytes',
  heap: 'nodejs_heap_size_used_bytes',
  buffers: 'nodejs_external_memory_bytes',
} as const;

/** Memory of the gateway in MiB; `buffers` is everything that V8 counts outside its heap. */
type Sample = Readonly<Record<keyof typeof COLUMNS, number>>;

interface Sensor {
  readonly device: TestDevice;
  readonly client: MqttClient;
}

/** Shows whether the memory of the gateway stays level under a long, light load. */
export async function memory(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string', default: '30' } },
  });
  const minutes = Number(values.minutes);
  const upstream = await AedesUpstream.start();
  const gateway = await GatewayProcess.create();
  await gateway.configure({ bridges: [{ name: 'nurse-call', url: upstream.url }] });
  await gateway.start();
  const sensors = await open(gateway);
  console.log(
    `\nMemory of the gateway in MiB: ${DEVICES} devices, ${ALARMS_PER_SECOND} alarms a second, ` +
      `${TELEMETRY_DEVICES} retained values a second, one durable subscriber connected, one away, one bridge`,
  );
  console.log(line(['minute', ...Object.keys(COLUMNS)]));
  const samples = [await sampleOf(gateway)];
  show(0, samples);
  const isEnded = { value: false };
  const sending = send(sensors, isEnded);
  for (let minute = 1; minute <= minutes; minute++) {
    await once(AbortSignal.timeout(MINUTE_MS), 'abort');
    samples.push(await sampleOf(gateway));
    show(minute, samples);
  }
  isEnded.value = true;
  const alarms = await sending;
  judge(samples, alarms);
  await gateway.remove();
  await upstream.remove();
}

async function open(gateway: GatewayProcess): Promise<Sensor[]> {
  const api = new Api(gateway);
  const { id: locationId } = await api.createLocation();
  const { id: username, token: password } = await api.viewer(locationId);
  for (const clientId of ['connected', 'away']) {
    const client = await connect(gateway, { username, password, clientId, clean: false });
    await client.subscribeAsync(`care-homes/${locationId}/#`, { qos: 1 });
    if (clientId === 'away') await client.endAsync();
  }
  const sensors: Sensor[] = [];
  for (let index = 0; index < DEVICES; index++) {
    const device = await api.createDevice(locationId, `Bed ${index}`);
    sensors.push({ device, client: await connectDevice(gateway, device) });
  }
  return sensors;
}

/** Sends until the end; returns the number of alarms. */
async function send(sensors: readonly Sensor[], isEnded: { value: boolean }): Promise<number> {
  const begunMs = performance.now();
  let [alarms, values] = [0, 0];
  while (!isEnded.value) {
    const elapsedSeconds = (performance.now() - begunMs) / 1000;
    for (; alarms < elapsedSeconds * ALARMS_PER_SECOND; alarms++) {
      publish(sensors, alarms % DEVICES, 'alarms', {
        kind: 'outOfBed',
        number: alarms,
        note: NOTE,
      });
    }
    for (; values < elapsedSeconds * TELEMETRY_DEVICES; values++) {
      publish(sensors, values % TELEMETRY_DEVICES, 'weight', { kilograms: values % 100 }, true);
    }
    await once(AbortSignal.timeout(TICK_MS), 'abort');
  }
  return alarms;
}

function publish(
  sensors: readonly Sensor[],
  index: number,
  topic: string,
  message: object,
  retain = false,
): void {
  const sensor = sensors[index];
  if (sensor === undefined) throw new Error(`no sensor ${index}`);
  const { client, device } = sensor;
  client.publish(`devices/${device.id}/${topic}`, JSON.stringify(message), { qos: 1, retain });
}

async function sampleOf(gateway: GatewayProcess): Promise<Sample> {
  const text = await (await fetch(`${gateway.httpUrl}/metrics`)).text();
  const mebibytes = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / MIB;
  const { resident, heap, buffers } = COLUMNS;
  return { resident: mebibytes(resident), heap: mebibytes(heap), buffers: mebibytes(buffers) };
}

function show(minute: number, samples: readonly Sample[]): void {
  const sample = samples.at(-1);
  const cells = Object.values(sample ?? {}).map((value: number) => value.toFixed(1));
  console.log(line([String(minute), ...cells]));
}

function line(cells: readonly string[]): string {
  return `  ${cells.map((cell) => cell.padStart(10)).join('')}`;
}

function judge(samples: readonly Sample[], alarms: number): void {
  console.log(`  ${alarms} alarms`);
  const resident = samples.map((sample) => sample.resident);
  const growth = slope(resident.slice(LEVEL_FROM_MINUTE));
  const isLevel = growth <= MAX_GROWTH_MIB_PER_MINUTE;
  const from = `from minute ${LEVEL_FROM_MINUTE} on resident memory grows by ${growth.toFixed(2)} MiB a minute`;
  verdict(`${from}, at most ${MAX_GROWTH_MIB_PER_MINUTE}`, isLevel);
  const peak = Math.max(...resident);
  verdict(`${peak.toFixed(0)} MiB at most, below ${MAX_RESIDENT_MIB}`, peak < MAX_RESIDENT_MIB);
}

function verdict(target: string, isMet: boolean): void {
  console.log(`  target: ${target}: ${isMet ? 'met' : 'MISSED'}`);
}

/** The slope of the line of best fit, from one value to the next. */
function slope(values: readonly number[]): number {
  const meanAt = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [covariance, variance] = [0, 0];
  for (const [at, value] of values.entries()) {
    covariance += (at - meanAt) * (value - mean);
    variance += (at - meanAt) ** 2;
  }
  return covariance / variance;
}
