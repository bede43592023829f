import type { Recording } from '../domain/footage.js';
import { GatewayError } from '../errors.js';

/** Enough for video and audio of one alarm and of the next. */
const MAX_PER_DEVICE = 4;

/**
 * Limits the uploads under way: one per URL, and a few per device.
 *
 * No device may take the space and the connections of all others.
 */
export class UploadSlots {
  readonly #keys = new Set<string>();
  /** By device id. */
  readonly #counts = new Map<string, number>();

  /**
   * Takes a slot, and returns the function that releases it.
   *
   * @throws GatewayError `footage-already-uploaded` while another upload to the key is under way,
   *   `store-unavailable` when the device has too many under way
   */
  take({ key, deviceId }: Recording): () => void {
    if (this.#keys.has(key)) {
      throw new GatewayError('footage-already-uploaded', 'An upload to this URL is under way.');
    }
    const count = this.#counts.get(deviceId) ?? 0;
    if (count >= MAX_PER_DEVICE) {
      const detail = `A device may have ${MAX_PER_DEVICE} uploads under way at a time.`;
      throw new GatewayError('store-unavailable', detail);
    }
    this.#keys.add(key);
    this.#counts.set(deviceId, count + 1);
    return () => {
      this.#keys.delete(key);
      const left = (this.#counts.get(deviceId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(deviceId);
      else this.#counts.set(deviceId, left);
    };
  }
}
