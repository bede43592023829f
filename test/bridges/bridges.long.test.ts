/** Guarantees 2 and 3 for a bridge whose upstream was away for a day: minutes of real time. */
import { expect, NO_LIMITS, testWith, times } from '../harness/index.js';
import { Mosquitto } from '../harness/upstream.js';
import { untilBridge, watcherAt } from './upstreams.js';

const [DEVICES, ALARMS_EACH, AT_ONCE] = [100, 1_000, 100];
const MORE_THAN_A_MINUTE_MS = 61_000;
const TIMEOUT_MS = 1_800_000;

const test = testWith({ env: { ...NO_LIMITS, GATEWAY_LOG_LEVEL: 'warn' } });

test('100,000 alarms of a day are sent completely and in order, marked late', {
  timeout: TIMEOUT_MS,
}, async ({ home, own }) => {
  const broker = await own.keep(Mosquitto.create(), (one) => one.remove());
  const bridge = { name: 'region', url: broker.url, send: 'alarms' };
  await home.gateway.configure({ bridges: [bridge] });
  await home.gateway.reload();
  home.ledger.destination('bridge/region', true).subscribed([home.filter()]);
  const sensors = await times(DEVICES, () => home.sensor());
  for (let count = 0; count < ALARMS_EACH; count += AT_ONCE) {
    await Promise.all(sensors.map((sensor) => sensor.raise(AT_ONCE)));
  }
  const queued = DEVICES * ALARMS_EACH;
  await untilBridge(home, 'region', { connected: false, queued, delivered: 0 });
  await home.gateway.clock.advance(MORE_THAN_A_MINUTE_MS);
  await broker.start();
  const watcher = await watcherAt(home, broker.port, 'region');
  await untilBridge(home, 'region', { connected: true });
  const fresh = await home.sensor();
  fresh.alarm();
  await home.settled({ timeoutMs: TIMEOUT_MS });
  for (const { text } of watcher.received) {
    const { late, device } = JSON.parse(text);
    expect(late).toBe(device.id !== fresh.device.id);
  }
});
