import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { loadSecret } from '../store/secret-file.js';

const KEY_BYTES = 32;
const NAME_LENGTH = 12;

/** The identity of this gateway, and secrets derived from it. */
export class Installation {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** Loads the identity, or makes one for this run: a full disk must not stop the gateway. */
  static async load(dataDir: string, log: Logger): Promise<Installation> {
    try {
      return new Installation(Buffer.from(await loadSecret(join(dataDir, 'installation.key'))));
    } catch (error) {
      log.error(
        { err: error },
        'failed to keep the key of this installation, a restart ends cursors of listings',
      );
      return new Installation(randomBytes(KEY_BYTES));
    }
  }

  /** Its name among gateways that share an upstream. */
  get name(): string {
    return this.#derive('name').toString('hex').slice(0, NAME_LENGTH);
  }

  /** The key of cursors. A key derived from a token would let weak tokens be guessed from a cursor. */
  get cursorKey(): Buffer {
    return this.#derive('cursors');
  }

  /**
   * A keyed digest of a configuration, to detect changes. A plain digest would let passwords in it be
   * guessed.
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
