import { setTimeout as delay } from 'node:timers/promises';
import { styleText } from 'node:util';
import { connect, newAlarm } from './home.mjs';
import { columnNames, messageLine } from './screen.mjs';

const MIN_PAUSE_MS = 800;
const MAX_PAUSE_MS = 2000;
const ARRIVAL_TIMEOUT_MS = 10_000;
/** The nurse-call system misses these alarms, and gets them afterwards. */
const AWAY_FROM = 4;
const BACK_FROM = 8;

/** Publishes and shows this many alarms, or fewer if the signal comes; resolves to how many were lost. */
export async function show({ sensors, nurseCall }, alarms, print, signal) {
  const { mqttUrl, id, token, filter } = nurseCall;
  // Its session outlives its connection.
  const session = { clientId: 'nurse-call-demo', clean: false };
  const nurse = connect(mqttUrl, { username: id, password: token, ...session });
  /** When each alarm was sent, by id. */
  const sent = new Map();
  const arrived = new Set();
  nurse.on('message', (topic, payload) => {
    const { id, kind, device, customData } = JSON.parse(payload);
    // Skips second copies and test alarms from the board.
    if (!sent.has(id) || arrived.has(id)) return;
    arrived.add(id);
    const tookMs = performance.now() - sent.get(id);
    print(messageLine({ kind, device: device.name, topic, customData, tookMs }));
  });
  await nurse.subscribeAsync(filter, { qos: 1 });
  const untilAllArrived = async () => {
    const untilMs = performance.now() + ARRIVAL_TIMEOUT_MS;
    while (arrived.size < sent.size && performance.now() < untilMs) await delay(20);
  };
  // Two calls, because Node.js 20 applies a list of styles even where no colour is wanted.
  const say = (text) => print(`\n${styleText('bold', styleText('magenta', `── ${text}`))}\n\n`);
  const comeBack = async () => {
    say('The nurse-call system is back, and gets what was queued while it was away.');
    const before = arrived.size;
    const missed = sent.size - before;
    nurse.reconnect();
    await untilAllArrived();
    const isInOrder = [...sent.keys()].join().startsWith([...arrived].join());
    const order = isInOrder ? 'in the order they were published' : 'NOT in order';
    say(`${arrived.size - before} of ${missed} alarms arrived, ${order}.`);
  };
  print(columnNames());
  while (sent.size < alarms) {
    if (sent.size === AWAY_FROM) {
      await untilAllArrived();
      await nurse.endAsync();
      say('The nurse-call system goes offline.');
    }
    if (sent.size === BACK_FROM) await comeBack();
    const pauseMs = MIN_PAUSE_MS + Math.random() * (MAX_PAUSE_MS - MIN_PAUSE_MS);
    await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const { name, kinds, topic, client } = oneOf(sensors);
    const alarm = newAlarm(oneOf(kinds));
    sent.set(alarm.id, performance.now());
    const to = `${topic}/alarms`;
    print(messageLine({ kind: alarm.kind, device: name, topic: to }));
    client.publish(to, JSON.stringify(alarm), { qos: 1 });
  }
  if (nurse.disconnecting) await comeBack();
  await untilAllArrived();
  const lost = sent.size - arrived.size;
  print(`\n${sent.size} published, ${arrived.size} forwarded, ${lost} lost\n`);
  return lost;
}

const oneOf = (items) => items[Math.floor(Math.random() * items.length)];
