import { NumberedPublish } from '../../../test/harness/load/numbered-publish.js';
import { WardDevice } from './device.js';
import { publishAsNewcomer } from './newcomer.js';
import type { Alarm, Attempt, Observations, WardPlan } from './plan.js';
import { WardSubscriber } from './subscriber.js';

const TICK_MS = 5;
const ATTEMPT_EVERY_MS = 1_000;
const REQUEST_TIMEOUT_MS = 5_000;
/** The number of the first device in its publishes (`NumberedPublish`). */
const FIRST_DEVICE_NUMBER = 10;

/** The victims: devices with their subscribers, and each second a newcomer and a board's request. */
export class Ward {
  readonly #plan: WardPlan;
  readonly #openedMs = performance.now();
  readonly #devices: readonly WardDevice[];
  readonly #live: WardSubscriber;
  readonly #durable: WardSubscriber;
  readonly #alarms: { -readonly [K in keyof Alarm]: Alarm[K] }[] = [];
  readonly #newcomers: Attempt[] = [];
  readonly #requests: Attempt[] = [];
  #timers: NodeJS.Timeout[] = [];

  constructor(plan: WardPlan) {
    this.#plan = plan;
    const { host, port, topic } = plan;
    const endpoint = { host, port };
    this.#devices = plan.devices.map((login, index) => {
      const numbered = { kind: 'alarms', qos: 1, topic } as const;
      const publish = new NumberedPublish(numbered, login.username, FIRST_DEVICE_NUMBER + index);
      return new WardDevice(endpoint, login, publish, (number) => {
        const alarm = this.#alarmOf(index, number);
        if (alarm !== undefined) alarm.acknowledgedMs = this.#nowMs();
      });
    });
    const subscriber = (isDurable: boolean) =>
      new WardSubscriber({
        endpoint,
        isDurable,
        filter: plan.filter,
        login: isDurable ? plan.durable : plan.live,
        received: ({ deviceNumber, publish }) => {
          const alarm = this.#alarmOf(deviceNumber - FIRST_DEVICE_NUMBER, publish);
          if (alarm === undefined) return;
          if (isDurable) alarm.durableMs ??= this.#nowMs();
          else alarm.liveMs ??= this.#nowMs();
        },
      });
    this.#live = subscriber(false);
    this.#durable = subscriber(true);
  }

  /** Connects everyone, then publishes. */
  async open(): Promise<void> {
    await Promise.all([this.#live.open(), this.#durable.open()]);
    await Promise.all(this.#devices.map((device) => device.open()));
    this.#publishAtRate();
    this.#tryEachSecond(this.#newcomers, () => this.#newcomer());
    if (this.#plan.http !== null) this.#tryEachSecond(this.#requests, () => this.#request());
  }

  sendDurableAway(): Promise<void> {
    return this.#durable.leave();
  }

  bringDurableBack(): Promise<void> {
    return this.#durable.open();
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
  }

  observe(sinceMs: number): Observations {
    const clients = [...this.#devices, this.#live, this.#durable];
    return {
      nowMs: this.#nowMs(),
      alarms: this.#alarms.filter(({ sentMs }) => sentMs >= sinceMs),
      newcomers: this.#newcomers.filter(({ begunMs }) => begunMs >= sinceMs),
      requests: this.#requests.filter(({ begunMs }) => begunMs >= sinceMs),
      disconnects: clients.reduce((sum, { disconnects }) => sum + disconnects, 0),
    };
  }

  #publishAtRate(): void {
    const begunMs = performance.now();
    const { alarmsPerSecond } = this.#plan;
    const tick = () => {
      const due = Math.floor(((performance.now() - begunMs) / 1000) * alarmsPerSecond);
      while (this.#alarms.length < due) {
        const index = this.#alarms.length;
        const alarm = {
          sentMs: this.#nowMs(),
          acknowledgedMs: null,
          liveMs: null,
          durableMs: null,
        };
        this.#alarms.push(alarm);
        const count = this.#devices.length;
        this.#devices[index % count]?.send(Math.floor(index / count) + 1);
      }
    };
    this.#timers.push(setInterval(tick, TICK_MS));
  }

  #tryEachSecond(attempts: Attempt[], attempt: () => Promise<void>): void {
    const tick = async () => {
      const begunMs = this.#nowMs();
      let failure: string | null = null;
      try {
        await attempt();
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error);
      }
      attempts.push({ begunMs, tookMs: this.#nowMs() - begunMs, failure });
    };
    this.#timers.push(setInterval(tick, ATTEMPT_EVERY_MS));
  }

  #newcomer(): Promise<void> {
    const { host, port, newcomer, topic } = this.#plan;
    return publishAsNewcomer(
      { host, port },
      newcomer,
      topic.replace('{device}', newcomer.username),
    );
  }

  async #request(): Promise<void> {
    const { http } = this.#plan;
    if (http === null) return;
    const response = await fetch(http.url, {
      // Its own connection, as for a board that has just been opened.
      headers: { authorization: `Bearer ${http.token}`, connection: 'close' },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
  }

  #alarmOf(deviceIndex: number, publish: number) {
    return this.#alarms[(publish - 1) * this.#devices.length + deviceIndex];
  }

  #nowMs(): number {
    return performance.now() - this.#openedMs;
  }
}
