// What the demo shows: a table of the alarms, as they are published and as they arrive.
import { setTimeout as delay } from 'node:timers/promises';
import { styleText } from 'node:util';
import { connect, newAlarm } from './home.mjs';

const NAMES = ['time', 'event', 'kind', 'device', '   took', 'customData', 'topic'];
const WIDTHS = [8, 11, 10, 15, 7, 45, 0];
/** On a narrower screen the custom data is more useful than the time. */
const MIN_WIDTH_WITH_TIME = 100;
const USUAL_WIDTH = 80;
const COLOURS = { fall: 'red', helpCall: 'red', noise: 'cyan', inactivity: 'cyan' };
const UUID = /\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const [MIN_PAUSE_MS, MAX_PAUSE_MS] = [800, 2_000];
const ARRIVAL_TIMEOUT_MS = 10_000;
/** The nurse-call system misses these alarms, and gets them afterwards. */
const [AWAY_FROM, BACK_FROM] = [4, 8];

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

/** The names of the columns. */
export function columnNames() {
  return row('underline', NAMES);
}

/** An alarm as published (→) or, if it has custom data, as forwarded (←), with the time it took. */
export function messageLine({ kind, device, topic, customData, tookMs }) {
  const time = new Date().toTimeString().slice(0, 8);
  const to = topic.replace(UUID, '$1…');
  if (customData === undefined) return row('dim', [time, '→ published', kind, device, '', '', to]);
  const digits = tookMs < 10 ? 1 : 0;
  const took = tookMs < 1_000 ? `${tookMs.toFixed(digits)} ms` : `${(tookMs / 1_000).toFixed(1)} s`;
  const cells = [time, '← forwarded', kind, device, took.padStart(7), JSON.stringify(customData)];
  return row(COLOURS[kind] ?? 'yellow', [...cells, to]);
}

/** Aligned cells, cut at the screen's current width so that they never wrap. */
function row(style, cells) {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its width, as on a serial line, reports 0.
  const width = isTTY ? columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
  const aligned = cells.map((text, index) => text.padEnd(WIDTHS[index]));
  const shown = aligned.slice(width < MIN_WIDTH_WITH_TIME ? 1 : 0);
  const line = shown.join('  ').trimEnd();
  return `${styleText(style, line.length <= width ? line : `${line.slice(0, width - 1)}…`)}\n`;
}
