import { setTimeout as delay } from 'node:timers/promises';
import { connectNurseCall, newAlarm } from './home.mjs';
import { announcement, columnNames, counted, duration, messageLine } from './screen.mjs';

const MIN_PAUSE_MS = 800;
const MAX_PAUSE_MS = 2000;
const ARRIVAL_TIMEOUT_MS = 10_000;
/** In a run that is long enough, the nurse-call system misses some alarms and gets them afterwards. */
const MISSED_ALARMS = 4;
const ABSENT_FROM = 4;
const MIN_ALARMS_FOR_ABSENCE = 11;

/**
 * Publishes so many alarms, and shows them as published and as forwarded.
 *
 * @param {AbortSignal} signal ends it early
 * @returns how many alarms were lost
 */
export async function show(home, alarms, print, signal) {
  /** By id: when it was sent, and whether the nurse-call system was away. */
  const onTheirWay = new Map();
  const [sent, arrived, tookMs] = [[], [], []];
  const connect = () =>
    connectNurseCall(home.nurseCall, (topic, { id, kind, device, customData }) => {
      const { sentAtMs, isMissed } = onTheirWay.get(id) ?? {};
      // A second copy, or a test alarm from the board.
      if (!onTheirWay.delete(id)) return;
      arrived.push(id);
      const took = performance.now() - sentAtMs;
      if (!isMissed) tookMs.push(took);
      const shown = { kind, device: device.name, topic, customData };
      print(messageLine({ direction: '←', ...shown, tookMs: took }));
    });
  const untilAllArrived = async () => {
    const untilMs = performance.now() + ARRIVAL_TIMEOUT_MS;
    while (onTheirWay.size > 0 && performance.now() < untilMs) await delay(20);
  };
  let nurseCall = await connect();
  const goAway = async () => {
    await untilAllArrived();
    await nurseCall.endAsync();
    nurseCall = undefined;
    const missed = counted(MISSED_ALARMS);
    print(announcement(`The nurse-call system goes offline for the next ${missed}.`));
  };
  const comeBack = async () => {
    const missed = counted(onTheirWay.size);
    print(announcement(`The nurse-call system is back; ${missed} queued while it was away.`));
    const alreadyArrived = arrived.length;
    nurseCall = await connect();
    await untilAllArrived();
    const isInOrder = arrived.every((id, index) => id === sent[index]);
    const order = isInOrder ? 'in the order they were published' : 'NOT in order';
    print(announcement(`${arrived.length - alreadyArrived} of ${missed} arrived, ${order}.`));
  };
  const publishAlarm = async () => {
    const sensor = oneOf(home.sensors);
    const alarm = newAlarm(oneOf(sensor.kinds));
    const topic = `${sensor.topic}/alarms`;
    onTheirWay.set(alarm.id, { sentAtMs: performance.now(), isMissed: nurseCall === undefined });
    sent.push(alarm.id);
    print(messageLine({ direction: '→', kind: alarm.kind, device: sensor.name, topic }));
    // Resolves with the PUBACK: the alarm is stored.
    await sensor.client.publishAsync(topic, JSON.stringify(alarm), { qos: 1 });
  };
  print(columnNames());
  try {
    const absentFrom = alarms < MIN_ALARMS_FOR_ABSENCE ? undefined : ABSENT_FROM;
    for (let number = 0; number < alarms; number++) {
      if (number === absentFrom) await goAway();
      if (number === absentFrom + MISSED_ALARMS) await comeBack();
      const pauseMs = MIN_PAUSE_MS + Math.random() * (MAX_PAUSE_MS - MIN_PAUSE_MS);
      await delay(pauseMs, undefined, { signal });
      await publishAlarm();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (nurseCall === undefined) await comeBack();
  await untilAllArrived();
  await Promise.all([nurseCall.endAsync(true), home.close()]);
  const lost = onTheirWay.size;
  print(`\nAlarms:   ${sent.length} published, ${arrived.length} forwarded, ${lost} lost\n`);
  if (tookMs.length > 0) print(`Latency:  ${latency(tookMs, arrived.length - tookMs.length)}\n`);
  return lost;
}

function latency(tookMs, missed) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const but = missed === 0 ? '' : ` (but for ${missed} that waited for the nurse-call system)`;
  const median = duration(sorted[Math.floor((sorted.length - 1) / 2)]);
  return `median ${median}, maximum ${duration(sorted.at(-1))}${but}`;
}

function oneOf(items) {
  return items[Math.floor(Math.random() * items.length)];
}
