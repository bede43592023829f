import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { systemErrorCode } from '../errors.js';
import { writeDurably } from './durable-file.js';

const position = z.int().min(0);
const positionsSchema = z.object({ alarms: position, messages: position, audit: position });

/** The newest number of what the store numbers; 0 where there is none yet. */
export type Positions = Readonly<z.infer<typeof positionsSchema>>;

const witnessSchema = z.object({
  identity: z.string().min(1),
  positions: positionsSchema,
  /** Digest of the newest alarm: tells it from another with the same number. Empty for none. */
  newestAlarm: z.string(),
  atMs: z.number(),
});

/** A store as last seen: which it is, and how far its numbers went. */
export type Witness = z.infer<typeof witnessSchema>;

const fileSchema = witnessSchema.extend({ site: z.string() });

/** Keeps the witness in a file beside the store: a store cannot say what it has lost. */
export class WitnessFile {
  readonly #path: string;
  readonly #site: string;
  readonly #log: Logger;

  /** @param site the one in the store; what was seen of another says nothing of it */
  constructor(path: string, site: string, log: Logger) {
    this.#path = path;
    this.#site = site;
    this.#log = log;
  }

  /** Undefined at the first start. */
  async read(): Promise<Witness | undefined> {
    try {
      const { site, ...witness } = fileSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
      return site === this.#site ? witness : undefined;
    } catch (err) {
      if (systemErrorCode(err) !== 'ENOENT') {
        this.#log.error(
          { err, file: this.#path },
          'failed to read what was last seen of the store',
        );
      }
      return undefined;
    }
  }

  async write(witness: Witness): Promise<void> {
    await writeDurably(this.#path, `${JSON.stringify({ site: this.#site, ...witness })}\n`);
  }
}
