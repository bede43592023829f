import { statfs } from 'node:fs/promises';
import { GatewayError } from '../errors.js';

/** Disk space reserved for one upload. */
export interface Claim {
  /**
   * Reserves this much more.
   *
   * @throws GatewayError `insufficient-storage`
   */
  extend(bytes: number): Promise<void>;
  /** Notes how many bytes are on the disk now. */
  use(bytes: number): void;
  release(): void;
}

/**
 * Keeps uploads from filling the disk.
 *
 * The reserve belongs to the store, which must go on taking alarms (CONTRACT 4.7).
 */
export class DiskReserve {
  readonly #directory: string;
  readonly #minFreeBytes: number;
  /** Bytes claimed by the uploads under way and not yet on the disk. */
  #claimedBytes = 0;

  /** @param directory must exist when `claim` or `check` is first called */
  constructor(directory: string, minFreeBytes: number) {
    this.#directory = directory;
    this.#minFreeBytes = minFreeBytes;
  }

  /** @throws GatewayError `insufficient-storage` */
  async claim(bytes: number): Promise<Claim> {
    let openBytes = 0;
    const extend = async (more: number) => {
      await this.#requireFree(more);
      openBytes += more;
      this.#claimedBytes += more;
    };
    await extend(bytes);
    const use = (used: number) => {
      const settled = Math.min(used, openBytes);
      openBytes -= settled;
      this.#claimedBytes -= settled;
    };
    return { extend, use, release: () => use(openBytes) };
  }

  /**
   * Checks that the reserve is still free, whatever fills the disk.
   *
   * @throws GatewayError `insufficient-storage`
   */
  check(): Promise<void> {
    return this.#requireFree(0);
  }

  /** How much more may be written. */
  async roomBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize - this.#minFreeBytes;
  }

  async #requireFree(bytes: number): Promise<void> {
    const roomBytes = await this.roomBytes();
    const claimedBytes = bytes === 0 ? 0 : this.#claimedBytes;
    if (roomBytes < claimedBytes + bytes) throw diskFull();
  }
}

export function diskFull(cause?: unknown): GatewayError {
  return new GatewayError('insufficient-storage', 'There is no room for this recording.', {
    cause,
  });
}
