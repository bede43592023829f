import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { loadSecret } from '../store/files.js';

const NAME_LENGTH = 12;

/** The identity of this gateway, and the secrets derived from it. */
export class Installation {
  readonly #key: Buffer;

  private constructor(key: Buffer) {
    this.#key = key;
  }

  /** Loads the identity, or creates one. */
  static async load(dataDir: string, log: Logger): Promise<Installation> {
    const { text } = await loadSecret(join(dataDir, 'installation.key'), log);
    return new Installation(Buffer.from(text));
  }

  /** Its name among gateways that share an upstream. */
  get name(): string {
    return this.#derive('name').toString('hex').slice(0, NAME_LENGTH);
  }

  /** The key of cursors. A key derived from a token would let weak tokens be guessed from a cursor. */
  get cursorKey(): Buffer {
    return this.#derive('cursors');
  }

  #derive(purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(purpose).digest();
  }
}
