import { firstOf, warning } from '../domain/faults.js';
import { recordSubject } from '../site/fault-subjects.js';
import type { Health } from '../site/health.js';
import type { SiteModel } from '../site/site-model.js';

const SOURCE = 'device-unreadable';
const MAX_NAMED = 3;

/** Devices whose last alarm could not be used: a fault of each until it sends a good one. */
export class UnreadableDevices {
  readonly #model: SiteModel;
  readonly #health: Pick<Health, 'reportAll'>;
  readonly #deviceIds = new Set<string>();

  constructor(model: SiteModel, health: Pick<Health, 'reportAll'>) {
    this.#model = model;
    this.#health = health;
  }

  /** Notes an alarm that could not be used. */
  failed(deviceId: string): void {
    if (this.#deviceIds.has(deviceId)) return;
    this.#deviceIds.add(deviceId);
    this.#report();
  }

  /** Notes a good alarm, or that the device is gone. */
  succeeded(deviceId: string): void {
    if (this.#deviceIds.delete(deviceId)) this.#report();
  }

  #report(): void {
    const faults = firstOf(
      [...this.#deviceIds],
      MAX_NAMED,
      (id) =>
        warning(
          'device-unreadable',
          'An alarm of the device cannot be read.',
          recordSubject(this.#model, 'device', id),
        ),
      (count) => warning('device-unreadable', `Alarms of ${count} more devices cannot be read.`),
    );
    this.#health.reportAll(SOURCE, faults);
  }
}
