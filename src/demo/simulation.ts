import { setTimeout as delay } from 'node:timers/promises';
import type { Telemetry } from './care-home.js';
import { Ledger, type Totals } from './ledger.js';
import type { InstalledDevice, InstalledHome } from './management.js';
import { type Forwarded, NurseCall } from './nurse-call.js';
import { between, pauseMs, pick, planAbsence, planAlarms } from './plan.js';
import * as screen from './screen.js';
import { Sensors } from './sensors.js';
import type { Look } from './table.js';

/** The output of a simulation. */
export interface Stage {
  /** Called for every line, as a terminal may change its width. */
  readonly look: () => Look;
  readonly print: (text: string) => void;
}

const ARRIVAL_DEADLINE_MS = 10_000;
/** The number of alarms between two readings. */
const ALARMS_PER_READING = 5;

/** The home at work: sensors, the nurse-call system, and everything between them on the screen. */
export class Simulation {
  readonly #home: InstalledHome;
  readonly #stage: Stage;
  readonly #mqttUrl: string;
  readonly #nurseCall: NurseCall;
  readonly #ledger = new Ledger(() => performance.now());
  readonly #readingsSentAtMs = new Map<string, number>();

  constructor(mqttUrl: string, home: InstalledHome, stage: Stage) {
    this.#mqttUrl = mqttUrl;
    this.#home = home;
    this.#stage = stage;
    this.#nurseCall = new NurseCall(mqttUrl, home, (message) => this.#received(message));
  }

  /**
   * Runs until this many alarms are published, or the signal is aborted, and all have arrived or are overdue.
   */
  async run(alarms: number, signal: AbortSignal): Promise<Totals> {
    await this.#nurseCall.connect();
    const sensors = await Sensors.connect(this.#mqttUrl, this.#home.devices);
    try {
      await this.#publishAlarms(sensors, alarms, signal);
      if (this.#ledger.outstanding > 0 && !this.#nurseCall.isOnline) await this.#comeBack();
      await this.#ledger.untilAllArrived(ARRIVAL_DEADLINE_MS);
    } finally {
      await Promise.all([sensors.end(), this.#nurseCall.end()]);
    }
    return this.#ledger.totals();
  }

  async #publishAlarms(sensors: Sensors, alarms: number, signal: AbortSignal): Promise<void> {
    const { random } = Math;
    const plan = planAlarms(this.#home.devices, random);
    const absence = planAbsence(alarms);
    for (let published = 0; published < alarms; published += 1) {
      if (published === absence?.from) await this.#goAway(absence.count);
      if (await interrupted(pauseMs(random), signal)) return;
      if (absence && published === absence.from + absence.count) {
        await this.#comeBack();
        if (await interrupted(pauseMs(random), signal)) return;
      }
      if (published % ALARMS_PER_READING === 2 && this.#nurseCall.isOnline) {
        await this.#publishReading(sensors);
        if (await interrupted(pauseMs(random), signal)) return;
      }
      const { device, kind } = plan.next().value;
      await sensors.publishAlarm(device, kind, (id, topic) => {
        this.#ledger.published(id, !this.#nurseCall.isOnline);
        const row = { time: new Date(), deviceName: device.name, topic };
        this.#show((look) => screen.publishedLine(look, kind, row));
      });
    }
  }

  async #publishReading(sensors: Sensors): Promise<void> {
    const device = pick(this.#home.devices.filter(hasTelemetry), Math.random);
    if (device === undefined) return;
    const { telemetry, name } = device;
    const value = Math.round(between(telemetry.low, telemetry.high, Math.random));
    await sensors.publishReading(device, telemetry, value, (topic) => {
      this.#readingsSentAtMs.set(device.id, performance.now());
      const row = { time: new Date(), deviceName: name, topic };
      this.#show((look) => screen.telemetryLine(look, telemetry.topic, row));
    });
  }

  async #goAway(alarms: number): Promise<void> {
    await this.#ledger.untilAllArrived(ARRIVAL_DEADLINE_MS);
    await this.#nurseCall.disconnect();
    const missed = screen.counted(alarms, 'alarm');
    this.#announce(`The nurse-call system goes offline for the next ${missed}.`);
  }

  async #comeBack(): Promise<void> {
    const { outstanding } = this.#ledger;
    const missed = screen.counted(outstanding, 'alarm');
    this.#announce(`The nurse-call system is back; ${missed} queued while it was away.`);
    await this.#nurseCall.connect();
    await this.#ledger.untilAllArrived(ARRIVAL_DEADLINE_MS);
    const arrived = outstanding - this.#ledger.outstanding;
    const order = this.#ledger.waitedInOrder ? 'in the order they were published' : 'NOT in order';
    this.#announce(`${arrived} of ${missed} arrived, ${order}.`);
  }

  #received(message: Forwarded): void {
    const { id, kind, device, topic } = message;
    const row = {
      time: new Date(),
      deviceName: device.name,
      topic,
      customData: JSON.stringify(message.customData),
    };
    if (id !== undefined && kind !== undefined) {
      const arrival = this.#ledger.arrived(id);
      if (arrival === undefined) return;
      this.#show((look) => screen.forwardedLine(look, kind, { ...row, arrival }));
      return;
    }
    const sentAtMs = this.#readingsSentAtMs.get(device.id);
    const what = topic.split('/').at(-1) ?? '';
    if (sentAtMs === undefined || what === 'status') return;
    const arrival = { tookMs: performance.now() - sentAtMs, waited: false };
    this.#show((look) => screen.telemetryLine(look, what, { ...row, arrival }));
  }

  #announce(text: string): void {
    this.#show((look) => screen.announcement(look, text));
  }

  #show(text: (look: Look) => string): void {
    this.#stage.print(text(this.#stage.look()));
  }
}

function hasTelemetry(
  device: InstalledDevice,
): device is InstalledDevice & { readonly telemetry: Telemetry } {
  return device.telemetry !== undefined;
}

/** Waits; returns whether the signal was aborted meanwhile. */
async function interrupted(waitMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(waitMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return signal.aborted;
}
