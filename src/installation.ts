import { createHmac, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { loadInstallationKey } from './store/data-directory.js';

const KEY_BYTES = 32;
const NAME_LENGTH = 12;

/** The identity of this gateway, and the secrets derived from it. */
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

  /** Not derived from a token: weak ones could be tried out on a cursor. */
  get cursorKey(): Buffer {
    return this.#derive('cursors');
  }

  /**
   * Tells one configuration of something from another. Keyed: a password in it could be guessed from a
   * plain digest.
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
