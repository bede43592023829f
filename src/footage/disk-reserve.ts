import { statfs } from 'node:fs/promises';
import { diskFull } from './file-failures.js';

/**
 * Keeps uploads from filling the disk.
 *
 * The reserve belongs to the store, which must keep taking alarms (docs/reference/contract.md, 4.7).
 */
export class DiskReserve {
  readonly #directory: string;
  readonly #minFreeBytes: number;

  /** @param directory must exist when the disk is first checked */
  constructor(directory: string, minFreeBytes: number) {
    this.#directory = directory;
    this.#minFreeBytes = minFreeBytes;
  }

  /** @throws GatewayError `insufficient-storage` when this many more bytes would use the reserve */
  async require(bytes: number): Promise<void> {
    if ((await this.roomBytes()) < bytes) throw diskFull();
  }

  /** How much more may be written. */
  async roomBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize - this.#minFreeBytes;
  }
}
