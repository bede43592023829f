import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '../errors.js';
import type { QuotaWatch } from '../site/quota-watch.js';
import { isAbsent } from './file-failures.js';

/** What one upload takes of its device's quota. */
export interface Taken {
  /**
   * Takes what has arrived.
   *
   * @throws GatewayError `insufficient-storage`
   */
  take(bytes: number): void;
  /** Gives everything back, unless the recording is kept. */
  end(isKept: boolean): void;
}

export interface FootageQuotaOptions {
  readonly directory: string;
  readonly maxBytesOf: (deviceId: string) => number;
  readonly watch: QuotaWatch;
}

/** Bounds the bytes of each device's recordings, so that one camera cannot fill the disk (FINDINGS S10). */
export class FootageQuota {
  readonly #options: FootageQuotaOptions;
  /** Bytes of the recordings of each device that has uploaded one since the start. */
  readonly #kept = new Map<string, number>();
  /** Bytes of the uploads under way. */
  readonly #underWay = new Map<string, number>();

  constructor(options: FootageQuotaOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `insufficient-storage` */
  async begin(deviceId: string, announcedBytes: number): Promise<Taken> {
    if (!this.#kept.has(deviceId)) {
      this.#kept.set(deviceId, await bytesIn(join(this.#options.directory, deviceId)));
    }
    this.#require(deviceId, announcedBytes);
    let taken = 0;
    return {
      take: (bytes) => {
        this.#require(deviceId, bytes);
        taken += bytes;
        add(this.#underWay, deviceId, bytes);
      },
      end: (isKept) => {
        add(this.#underWay, deviceId, -taken);
        if (isKept && this.#kept.has(deviceId)) add(this.#kept, deviceId, taken);
      },
    };
  }

  /** Counts the device's recordings anew at its next upload: some were removed. */
  forget(deviceId: string): void {
    this.#kept.delete(deviceId);
  }

  /** The device with the most recordings, of those that have uploaded one since the start. */
  largestHolder(): string | undefined {
    const [largest] = [...this.#kept].sort(([, one], [, other]) => other - one);
    return largest && `device:${largest[0]}`;
  }

  #require(deviceId: string, moreBytes: number): void {
    const { maxBytesOf, watch } = this.#options;
    const maxBytes = maxBytesOf(deviceId);
    const held = (this.#kept.get(deviceId) ?? 0) + (this.#underWay.get(deviceId) ?? 0);
    if (held + moreBytes <= maxBytes) return;
    watch.exceeded('footage', `device:${deviceId}`);
    const detail = `The recordings of a device must not exceed ${maxBytes} bytes (limits.device.footageBytes).`;
    throw new GatewayError('insufficient-storage', detail);
  }
}

function add(bytes: Map<string, number>, deviceId: string, more: number): void {
  const total = (bytes.get(deviceId) ?? 0) + more;
  if (total === 0) bytes.delete(deviceId);
  else bytes.set(deviceId, total);
}

async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  try {
    for (const name of await readdir(directory, { recursive: true })) {
      const status = await lstat(join(directory, name));
      if (status.isFile()) bytes += status.size;
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return bytes;
}
