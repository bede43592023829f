import { readdir } from 'node:fs/promises';
import { type FaultReport, fault } from '../domain/fault.js';
import { holderSubject } from '../site/access/quota-watch.js';
import type { Health } from '../site/health/health.js';
import type { SiteModel } from '../site/site-model.js';
import type { DiskReserve } from './disk-reserve.js';
import type { FootageQuota } from './footage-quota.js';

export const FOOTAGE_CHECK_MS = 10_000;
/** With room for fewer of the largest uploads the folder is nearly full. */
const MIN_UPLOADS = 2;
const MIB = 1024 * 1024;

export interface FootageWatchOptions {
  readonly directory: string;
  readonly reserve: Pick<DiskReserve, 'roomBytes'>;
  readonly quota: Pick<FootageQuota, 'largestHolder'>;
  readonly maxUploadBytes: number;
  readonly model: SiteModel;
  readonly health: Health;
}

/** Reports a folder with recordings that is nearly full; most gateways have none. */
export class FootageWatch {
  readonly #options: FootageWatchOptions;

  constructor(options: FootageWatchOptions) {
    this.#options = options;
  }

  /** Checks the disk now. A disk that cannot be checked is for the store to report. */
  check(): void {
    const { directory, reserve, health } = this.#options;
    Promise.all([readdir(directory), reserve.roomBytes()]).then(
      ([recordings, bytes]) => {
        const fault = recordings.length > 0 ? this.#faultOf(bytes) : undefined;
        health.report('footage', fault);
      },
      () => undefined,
    );
  }

  #faultOf(bytes: number): FaultReport | undefined {
    const { quota, model, maxUploadBytes } = this.#options;
    if (bytes >= MIN_UPLOADS * maxUploadBytes) return undefined;
    const mebibytes = Math.max(0, Math.floor(bytes / MIB));
    const holder = quota.largestHolder();
    const subject = holder === undefined ? undefined : holderSubject(model, holder);
    return { ...fault('recordingsFilling', { mebibytes }), subject };
  }
}
