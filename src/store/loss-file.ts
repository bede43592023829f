import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { systemErrorCode } from '../errors.js';
import { LOSS_KINDS, type Loss, type LossStore } from '../site/losses.js';
import { writeDurably } from './durable-file.js';

const numberOrNull = z.number().nullable();
const fileSchema = z.array(
  z.object({
    id: z.string(),
    what: z.enum(LOSS_KINDS),
    detectedAtMs: z.number(),
    from: numberOrNull,
    to: numberOrNull,
    count: numberOrNull,
    detail: z.string(),
    acknowledgedAtMs: numberOrNull,
    acknowledgedBy: z.string().nullable(),
  }),
);

/** Keeps losses in a file, as the store itself may be lost. */
export class LossFile implements LossStore {
  readonly #path: string;
  readonly #log: Logger;

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /** Loads the losses; none from an unreadable file, which must not stop the gateway. */
  async load(): Promise<Loss[]> {
    try {
      return fileSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
    } catch (err) {
      if (systemErrorCode(err) !== 'ENOENT') {
        this.#log.error({ err, file: this.#path }, 'failed to read earlier losses');
      }
      return [];
    }
  }

  async save(losses: readonly Loss[]): Promise<void> {
    await writeDurably(this.#path, `${JSON.stringify(losses)}\n`);
  }
}
