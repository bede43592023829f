import { createHmac, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { loadInstallationKey } from './store/data-directory.js';

const KEY_BYTES = 32;
const NAME_LENGTH = 12;

/** What tells this gateway from every other one, and what nobody else knows. */
export class Installation {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** A disk that is full at the very first start must not keep alarms from being forwarded. */
  static async load(dataDir: string, log: Logger): Promise<Installation> {
    try {
      return new Installation(Buffer.from(await loadInstallationKey(dataDir)));
    } catch (error) {
      log.error(
        { err: error },
        'cursors of listings will not outlive this gateway: no key is kept',
      );
      return new Installation(randomBytes(KEY_BYTES));
    }
  }

  /** Its name among gateways that know each other's upstream. */
  get name(): string {
    return this.#derive('name').toString('hex').slice(0, NAME_LENGTH);
  }

  /** Not made from a token: whoever has a cursor could try out weak ones on it. */
  get cursorKey(): Buffer {
    return this.#derive('cursors');
  }

  /**
   * Tells how something is configured from how it was. With the key, as there may be a password in it
   * that whoever has the fingerprint could try to guess.
   */
  fingerprint(configured: object): string {
    return createHmac('sha256', this.#derive('fingerprints'))
      .update(JSON.stringify(configured))
      .digest('base64');
  }

  #derive(purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(purpose).digest();
  }
}
