import { fault, firstOf } from '../domain/faults/faults.js';
import { recordSubject } from '../site/health/fault-subjects.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';

export const UNREADABLE_CHECK_MS = 1_000;
const SOURCE = 'device-unreadable';

/** Devices whose last alarm could not be used: a fault for each until it sends a good one. */
export class UnreadableDevices {
  readonly #model: SiteModel;
  readonly #health: Pick<Health, 'reportAll'>;
  /** Read for each alarm. */
  readonly deviceIds = new Set<string>();
  #isChanged = false;

  constructor(model: SiteModel, health: Pick<Health, 'reportAll'>) {
    this.#model = model;
    this.#health = health;
  }

  /** Notes an alarm that could not be used. */
  failed(deviceId: string): void {
    if (this.deviceIds.has(deviceId)) return;
    this.deviceIds.add(deviceId);
    this.#isChanged = true;
  }

  /** Notes a good alarm, or that the device is gone. */
  succeeded(deviceId: string): void {
    if (this.deviceIds.delete(deviceId)) this.#isChanged = true;
  }

  /** Reports the faults; call it every `UNREADABLE_CHECK_MS`. Each report is a `gateway/status` to everybody. */
  check(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    const faults = firstOf([...this.deviceIds], (id) => {
      return { ...fault('deviceUnreadable'), subject: recordSubject(this.#model, 'device', id) };
    });
    this.#health.reportAll(SOURCE, faults);
  }
}
