import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recording } from '../domain/footage.js';
import { GatewayError } from '../errors.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import { isAbsent } from './file-failures.js';

/** Uploads of a device at a time: enough for the video and audio of one alarm and the next. */
const MAX_UPLOADS = 4;

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

/** The recordings of a device: those counted in its folder, and those uploaded since. */
interface Kept {
  bytes: number;
}

/** Uploads of a device. */
interface UnderWay {
  readonly keys: Set<string>;
  bytes: number;
}

/**
 * Bounds the recordings of each device, so that one camera cannot fill the disk.
 *
 * It bounds their bytes, and how many are uploaded at a time: one per URL, and a few per device, which could
 * otherwise take the connections of all others.
 */
export class FootageQuota {
  readonly #options: FootageQuotaOptions;
  /** By device, if it has uploaded since the start, or since some of its recordings were removed. */
  readonly #kept = new Map<string, Kept>();
  /** By device. */
  readonly #underWay = new Map<string, UnderWay>();

  constructor(options: FootageQuotaOptions) {
    this.#options = options;
  }

  /**
   * @throws GatewayError `footage-already-uploaded` while another upload to the key is under way,
   *   `too-many-requests` when the device has too many under way, `insufficient-storage`
   */
  async begin({ key, deviceId }: Recording, announcedBytes: number): Promise<Taken> {
    const underWay = this.#underWay.get(deviceId) ?? { keys: new Set(), bytes: 0 };
    requireSlot(underWay, key);
    underWay.keys.add(key);
    this.#underWay.set(deviceId, underWay);
    let taken = 0;
    const release = () => {
      underWay.bytes -= taken;
      underWay.keys.delete(key);
      if (underWay.keys.size === 0) this.#underWay.delete(deviceId);
    };
    try {
      const kept = await this.#count(deviceId);
      this.#require(deviceId, announcedBytes);
      return {
        take: (bytes) => {
          this.#require(deviceId, bytes);
          taken += bytes;
          underWay.bytes += bytes;
        },
        end: (isKept) => {
          release();
          if (!isKept) return;
          // A count made in the meantime may or may not include this recording.
          if (this.#kept.get(deviceId) === kept) kept.bytes += taken;
          else this.forget(deviceId);
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Counts the device's recordings again at its next upload: some were removed. */
  forget(deviceId: string): void {
    this.#kept.delete(deviceId);
  }

  /** The device with the most recordings, of those that `#kept` knows. */
  largestHolder(): string | undefined {
    const [largest] = [...this.#kept].sort(([, one], [, other]) => other.bytes - one.bytes);
    return largest && `device:${largest[0]}`;
  }

  async #count(deviceId: string): Promise<Kept> {
    const known = this.#kept.get(deviceId);
    if (known !== undefined) return known;
    const counted = { bytes: await bytesIn(join(this.#options.directory, deviceId)) };
    this.#kept.set(deviceId, counted);
    return counted;
  }

  #require(deviceId: string, moreBytes: number): void {
    const { maxBytesOf, watch } = this.#options;
    const maxBytes = maxBytesOf(deviceId);
    const kept = this.#kept.get(deviceId)?.bytes ?? 0;
    const held = kept + (this.#underWay.get(deviceId)?.bytes ?? 0);
    if (held + moreBytes <= maxBytes) return;
    watch.exceeded('footage', `device:${deviceId}`);
    const detail = `The recordings of a device must not exceed ${maxBytes} bytes (limits.device.footageBytes).`;
    throw new GatewayError('insufficient-storage', detail);
  }
}

function requireSlot({ keys }: UnderWay, key: string): void {
  if (keys.has(key)) {
    throw new GatewayError('footage-already-uploaded', 'An upload to this URL is under way.');
  }
  if (keys.size < MAX_UPLOADS) return;
  const detail = `A device may have ${MAX_UPLOADS} uploads under way at a time.`;
  throw new GatewayError('too-many-requests', detail);
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
