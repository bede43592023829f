import { Gateway, killProcess, killStore, storeProcessId } from '../../test/harness/gateway.js';
import { processorMs } from '../../test/harness/program.js';
import { Mosquitto } from '../../test/harness/upstream.js';
import { withEnds } from '../interrupt.js';
import { AEDES, startGateway } from './contestants.js';
import { DEVICES, isLevel, type Part, planOf, reportWhen, withLoad } from './measure.js';
import { printTable, verdict } from './table.js';

const ALARMS = 100_000;
const SESSIONS = 10;
const WINDOW = 100;
const FILLED_WITHIN_MS = 600_000;
const TARGET_MS = 5_000;

type End = (gateway: Gateway) => Promise<unknown>;

/** Ways to end a gateway before it starts again. */
const ENDINGS: readonly (readonly [name: string, end: End])[] = [
  ['SIGTERM', (gateway) => gateway.stop()],
  ['SIGKILL of the gateway, whose store is adopted', (gateway) => gateway.kill()],
  [
    'SIGKILL of the gateway and the store',
    async (gateway) => {
      const store = storeProcessId(gateway.dataDir);
      // Both together: the gateway must not see the store die first.
      const dead = gateway.kill();
      if (store !== undefined) killProcess(store);
      await dead;
      await killStore(gateway.dataDir);
    },
  ],
];

/** From the spawn to serving: with nothing stored beside the others, and with a large store. */
export const start: Part = () =>
  withEnds(async (onEnd) => {
    const rows = [['', 'ready after', 'its processor time']];
    const gateway = await Gateway.create({ kind: 'process' });
    onEnd(() => gateway.remove());
    rows.push(await timed('gateway, nothing stored', () => gateway.start(), gateway));
    const mosquitto = await Mosquitto.create();
    onEnd(() => mosquitto.remove());
    rows.push(await timed('Mosquitto', () => mosquitto.start(), mosquitto));
    const aedes = await AEDES.start(0);
    onEnd(() => aedes.remove());
    const processId = () => aedes.processIds()[0] ?? 0;
    rows.push(await timed('Aedes', () => aedes.restart(), { processId }));
    const large = await startGateway(DEVICES);
    onEnd(() => large.remove());
    await fill(large);
    let slowestMs = 0;
    for (const [name, end] of ENDINGS) {
      await end(large.gateway);
      const begunMs = performance.now();
      rows.push(await timed(`gateway, after ${name}`, () => large.gateway.start(), large.gateway));
      slowestMs = Math.max(slowestMs, performance.now() - begunMs);
    }
    const stored = `${ALARMS.toLocaleString('en')} alarms, all of them waiting for ${SESSIONS} sessions`;
    printTable(`From the spawn to serving; a large store has ${stored}`, rows);
    return verdict(`at most ${TARGET_MS / 1_000} s after each`, slowestMs <= TARGET_MS);
  });

async function fill(broker: Awaited<ReturnType<typeof startGateway>>): Promise<void> {
  const plan = planOf(broker, { readers: SESSIONS });
  await withLoad({ ...plan, devices: [] }, (load) => load.end());
  await withLoad({ ...plan, readers: [] }, async (load) => {
    await load.offer({ window: WINDOW, maxEach: ALARMS / DEVICES });
    await reportWhen(load, isLevel, FILLED_WITHIN_MS);
    await load.end();
  });
}

async function timed(
  name: string,
  work: () => Promise<unknown>,
  program: { readonly processId: number | (() => number) },
): Promise<string[]> {
  const begunMs = performance.now();
  await work();
  const readyMs = performance.now() - begunMs;
  const { processId } = program;
  const usedMs = await processorMs(typeof processId === 'number' ? processId : processId());
  return [name, `${(readyMs / 1_000).toFixed(2)} s`, `${(usedMs / 1_000).toFixed(2)} s`];
}
