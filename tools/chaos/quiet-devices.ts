import { z } from 'zod';
import type { Home } from '../../test/harness/home.js';
import { Ledger, type Violation } from '../../test/harness/ledger.js';
import type { TestDevice } from '../../test/harness/mqtt.js';
import { Nurse } from '../../test/harness/nurse.js';
import { times, until } from '../../test/harness/wait.js';

const DEVICES = 20;
/** The shortest time that the gateway accepts. */
const SILENT_AFTER_SECONDS = 60;
/** Longer than the silence takes, counting only the time in which the gateway is up. */
const TIMEOUT_MS = 240_000;
/** In shorter runs no device is silent for long enough. */
export const SUPERVISED_FROM_MS = 120_000;

const eventSchema = z.object({
  id: z.string(),
  state: z.string(),
  device: z.object({ id: z.string() }),
});

/** Sensors that died: each publishes once and then never again, and must be reported once. */
export class QuietDevices {
  readonly #devices: readonly TestDevice[];
  readonly #nurse: Nurse;

  private constructor(devices: readonly TestDevice[], nurse: Nurse) {
    this.#devices = devices;
    this.#nurse = nurse;
  }

  static async start(home: Home): Promise<QuietDevices> {
    const options = { clientId: 'chaos-supervisor', isDurable: true, reconnects: true };
    // Its messages are no alarms of the home's ledger.
    const nurse = await Nurse.connect(home.gateway, home.viewer, new Ledger(), options);
    home.onClose(() => nurse.end());
    await nurse.subscribe(home.filter(undefined, 'supervision'));
    const supervision = { silentAfterSeconds: SILENT_AFTER_SECONDS };
    const devices = await times(DEVICES, async (index) => {
      const device = await home.device(`Quiet ${index + 1}`);
      await home.must('PATCH', `./devices/${device.id}`, { json: { supervision } });
      await home.publish(device, 'weight', '70');
      return device;
    });
    return new QuietDevices(devices, nurse);
  }

  /** Waits until each is reported silent; returns those with any other report. */
  async violations(): Promise<Violation[]> {
    const isSilent = ({ id }: TestDevice) => this.#reports.has(id);
    const all = () => this.#devices.every(isSilent);
    await until(all, 'all to be silent', TIMEOUT_MS).catch(() => undefined);
    const missed = this.#devices.filter((device) => !isSilent(device)).map(({ id }) => id);
    const isRight = (id: string, reports: ReadonlySet<string>) =>
      reports.size === 1 && this.#devices.some((device) => device.id === id);
    const wrong = [...this.#reports]
      .filter(([id, reports]) => !isRight(id, reports))
      .map(([id, reports]) => `${id}: ${[...reports].join(', ')}`);
    return [
      { what: 'silent and not reported', alarms: missed },
      { what: 'reported silent wrongly, or more than once', alarms: wrong },
    ].filter(({ alarms }) => alarms.length > 0);
  }

  /** The reports of each device: the same may come again after a kill. */
  get #reports(): Map<string, Set<string>> {
    const reports = new Map<string, Set<string>>();
    for (const { text } of this.#nurse.received) {
      const { id, state, device } = eventSchema.parse(JSON.parse(text));
      const ids = reports.get(device.id) ?? new Set();
      reports.set(device.id, ids.add(`${state} ${id}`));
    }
    return reports;
  }
}
