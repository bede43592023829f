import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';

/** Uploads of a device at a time: enough for the video and audio of one alarm and the next. */
const MAX_UPLOADS = 4;

export interface RoomOptions {
  /** Where each device has a directory of its recordings. */
  readonly directory: string;
  /** On the disk in question; must exist. */
  readonly dataDir: string;
  /** What the store needs to go on taking alarms (contract 4.7). */
  readonly minFreeBytes: number;
  readonly maxBytesOf: (deviceId: string) => number;
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
}

/** A device with uploads under way. */
interface UnderWay {
  uploads: number;
  /** Its recordings, and what has arrived of those under way. */
  bytes: number;
  counted: Promise<void> | undefined;
}

/**
 * Room for recordings: on the disk, and in the quota of each device, so that one camera cannot fill it.
 *
 * A few uploads of a device at a time, which could otherwise take the connections of all others.
 */
export class Room {
  readonly #options: RoomOptions;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  /**
   * Runs an upload, which takes what arrives. What it took is given back if it fails.
   *
   * @throws GatewayError `too-many-requests`, and, as does `take`, `insufficient-storage`
   */
  async use(
    deviceId: string,
    announcedBytes: number,
    upload: (take: (bytes: number) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const device = this.#underWay.get(deviceId) ?? { uploads: 0, bytes: 0, counted: undefined };
    if (device.uploads >= MAX_UPLOADS) {
      const detail = `A device may have ${MAX_UPLOADS} uploads under way at a time.`;
      throw new GatewayError('too-many-requests', detail);
    }
    this.#underWay.set(deviceId, device);
    device.uploads++;
    let taken = 0;
    try {
      device.counted ??= this.#count(deviceId, device);
      await device.counted;
      await this.#require(deviceId, device, announcedBytes);
      await upload(async (bytes) => {
        // Whatever fills the disk: this upload, others, or something else.
        await this.#require(deviceId, device, bytes);
        device.bytes += bytes;
        taken += bytes;
      });
    } catch (error) {
      device.bytes -= taken;
      throw error;
    } finally {
      device.uploads--;
      if (device.uploads === 0) this.#underWay.delete(deviceId);
    }
  }

  async #count(deviceId: string, device: UnderWay): Promise<void> {
    const directory = join(this.#options.directory, deviceId);
    const listed = readdir(directory, { recursive: true, withFileTypes: true });
    for (const entry of await ifThere(listed, [])) {
      if (!entry.isFile()) continue;
      const status = await ifThere(stat(join(entry.parentPath, entry.name)), undefined);
      device.bytes += status?.size ?? 0;
    }
  }

  async #require(deviceId: string, device: UnderWay, moreBytes: number): Promise<void> {
    const { dataDir, minFreeBytes, maxBytesOf, watch } = this.#options;
    const { bavail, bsize } = await statfs(dataDir);
    const maxBytes = maxBytesOf(deviceId);
    const isDiskFull = bavail * bsize - minFreeBytes < moreBytes;
    if (!isDiskFull && device.bytes + moreBytes <= maxBytes) return;
    watch.exceeded('footage', `device:${deviceId}`);
    if (isDiskFull) throw diskFull();
    const detail = `The recordings of a device must not exceed ${maxBytes} bytes (limits.device.footageBytes).`;
    throw new GatewayError('insufficient-storage', detail);
  }
}

export function diskFull(cause?: unknown): GatewayError {
  return new GatewayError('insufficient-storage', 'There is no room for this recording.', {
    cause,
  });
}

/** What the file system answers, or `otherwise` for a file that is not there. */
export async function ifThere<Value, Other>(
  answer: Promise<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  try {
    return await answer;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) throw error;
    return otherwise;
  }
}
