import { setTimeout as delay } from 'node:timers/promises';
import { connectNurseCall, newAlarm } from './home.mjs';
import { announcement, columnNames, counted, duration, messageLine, paint } from './screen.mjs';

const MIN_PAUSE_MS = 800;
const MAX_PAUSE_MS = 2000;
const ARRIVAL_TIMEOUT_MS = 10_000;
const LOOK_INTERVAL_MS = 20;
/** In a run that is long enough, the nurse-call system misses some alarms and gets them afterwards. */
const MISSED_ALARMS = 4;
const MIN_ALARMS_FOR_ABSENCE = 11;
const LATEST_ABSENCE = 8;
const ALARMS_PER_READING = 5;

/** The home at work: its sensors, the nurse-call system, and on the screen what passes between them. */
export class Show {
  #home;
  #print;
  #signal;
  #nurseCall;
  /** Alarms on their way: when they were sent, and whether they wait for the nurse-call system. */
  #outstanding = new Map();
  #readingsSentAtMs = new Map();
  #sent = [];
  #arrived = [];
  #tookMs = [];

  /** @param {AbortSignal} signal ends it early */
  constructor(home, print, signal) {
    this.#home = home;
    this.#print = print;
    this.#signal = signal;
  }

  /** Publishes so many alarms and waits for them; resolves to how many were lost. */
  async run(alarms) {
    await this.#connect();
    this.#print(columnNames());
    try {
      await this.#publish(alarms);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
    if (this.#nurseCall === undefined) await this.#comeBack();
    await this.#untilAllArrived();
    await Promise.all([this.#nurseCall.endAsync(true), this.#home.close()]);
    this.#print(this.#summary());
    return this.#outstanding.size;
  }

  async #publish(alarms) {
    const middle = Math.floor((alarms - MISSED_ALARMS) / 2);
    const absentFrom =
      alarms < MIN_ALARMS_FOR_ABSENCE ? undefined : Math.min(middle, LATEST_ABSENCE);
    for (let number = 0; number < alarms; number++) {
      if (number === absentFrom) await this.#goAway();
      if (number === absentFrom + MISSED_ALARMS) await this.#comeBack();
      await this.#pause();
      if (number % ALARMS_PER_READING === 2 && this.#nurseCall !== undefined) {
        await this.#publishReading();
        await this.#pause();
      }
      await this.#publishAlarm();
    }
  }

  async #publishAlarm() {
    const sensor = oneOf(this.#home.sensors);
    const alarm = newAlarm(oneOf(sensor.kinds));
    const topic = `${sensor.topic}/alarms`;
    const waited = this.#nurseCall === undefined;
    this.#outstanding.set(alarm.id, { sentAtMs: performance.now(), waited });
    this.#sent.push(alarm.id);
    const shown = { direction: '→', isAlarm: true, what: alarm.kind, device: sensor.name, topic };
    this.#print(messageLine(shown));
    // Resolves with the PUBACK: the alarm is stored.
    await sensor.client.publishAsync(topic, JSON.stringify(alarm), { qos: 1 });
  }

  async #publishReading() {
    const { id, name, topic, reading, client } = oneOf(
      this.#home.sensors.filter((sensor) => sensor.reading !== undefined),
    );
    const value = Math.round(between(reading.low, reading.high));
    this.#readingsSentAtMs.set(id, performance.now());
    const shown = { direction: '→', isAlarm: false, what: reading.topic, device: name };
    this.#print(messageLine({ ...shown, topic: `${topic}/${reading.topic}` }));
    await client.publishAsync(
      `${topic}/${reading.topic}`,
      JSON.stringify({ [reading.field]: value }),
    );
  }

  #received(topic, { id, kind, device, customData }) {
    const shown = { direction: '←', device: device.name, topic, customData };
    const alarm = this.#outstanding.get(id);
    const what = kind ?? topic.split('/').at(-1);
    if (alarm !== undefined) {
      const { sentAtMs, waited } = alarm;
      const tookMs = performance.now() - sentAtMs;
      this.#outstanding.delete(id);
      this.#arrived.push(id);
      if (!waited) this.#tookMs.push(tookMs);
      this.#print(messageLine({ ...shown, isAlarm: true, what, tookMs, waited }));
    } else if (id === undefined && what !== 'status') {
      const tookMs = performance.now() - this.#readingsSentAtMs.get(device.id);
      this.#print(messageLine({ ...shown, isAlarm: false, what, tookMs }));
    }
  }

  async #connect() {
    const received = (topic, message) => this.#received(topic, message);
    this.#nurseCall = await connectNurseCall(this.#home.nurseCall, received);
  }

  async #goAway() {
    await this.#untilAllArrived();
    await this.#nurseCall.endAsync();
    this.#nurseCall = undefined;
    const missed = counted(MISSED_ALARMS, 'alarm');
    this.#print(announcement(`The nurse-call system goes offline for the next ${missed}.`));
  }

  async #comeBack() {
    const waiting = this.#outstanding.size;
    const missed = counted(waiting, 'alarm');
    const back = `The nurse-call system is back; ${missed} queued while it was away.`;
    this.#print(announcement(back));
    await this.#connect();
    await this.#untilAllArrived();
    const isInOrder = this.#arrived.every((id, index) => id === this.#sent[index]);
    const order = isInOrder ? 'in the order they were published' : 'NOT in order';
    const arrived = waiting - this.#outstanding.size;
    this.#print(announcement(`${arrived} of ${missed} arrived, ${order}.`));
  }

  /** Resolves when every alarm has arrived, or after a timeout. */
  async #untilAllArrived() {
    const untilMs = performance.now() + ARRIVAL_TIMEOUT_MS;
    while (this.#outstanding.size > 0 && performance.now() < untilMs) await delay(LOOK_INTERVAL_MS);
  }

  #pause() {
    return delay(between(MIN_PAUSE_MS, MAX_PAUSE_MS), undefined, { signal: this.#signal });
  }

  #summary() {
    const lost = this.#outstanding.size;
    const losses = paint(lost === 0 ? ['green', 'bold'] : ['red', 'bold'], `${lost} lost`);
    const counts = `${this.#sent.length} published, ${this.#arrived.length} forwarded, ${losses}`;
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    if (sorted.length === 0) return `\nAlarms:   ${counts}\n`;
    const waited = this.#arrived.length - sorted.length;
    const but = waited === 0 ? '' : ` (but for ${waited} that waited for the nurse-call system)`;
    const median = duration(sorted[Math.floor((sorted.length - 1) / 2)]);
    return `\nAlarms:   ${counts}\nLatency:  median ${median}, maximum ${duration(sorted.at(-1))}${but}\n`;
  }
}

function between(low, high) {
  return low + Math.random() * (high - low);
}

function oneOf(items) {
  return items[Math.floor(Math.random() * items.length)];
}
