import type { Health } from '../site/health.js';
import type { SiteModel } from '../site/site-model.js';

const FAULT = 'device-unreadable';
const MAX_NAMED = 3;

/** Devices whose last alarm could not be read: a fault for each until it sends a good one. */
export class UnreadableDevices {
  readonly #model: SiteModel;
  readonly #health: Pick<Health, 'reportElsewhere'>;
  readonly #deviceIds = new Set<string>();

  constructor(model: SiteModel, health: Pick<Health, 'reportElsewhere'>) {
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
    const ids = [...this.#deviceIds];
    const named = ids
      .slice(0, MAX_NAMED)
      .map((id) => `${this.#model.device(id)?.name ?? ''} (${id})`);
    const others = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
    const fault = `alarms cannot be read: ${named.join(', ')}${others}`;
    this.#health.reportElsewhere(FAULT, ids.length > 0 ? fault : undefined);
  }
}
