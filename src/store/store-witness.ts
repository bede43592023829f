import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { systemErrorCode } from '../errors.js';
import { writeDurably } from './durable-file.js';

const position = z.int().min(0);
const positionsSchema = z.object({ alarms: position, messages: position, audit: position });

/** The newest number of each kind that the store numbers; 0 for none. */
export type Positions = Readonly<z.infer<typeof positionsSchema>>;

const witnessSchema = z.object({
  identity: z.string().min(1),
  positions: positionsSchema,
  /** Digest of the newest alarm: tells it from another with the same number. Empty for none. */
  newestAlarm: z.string(),
  atMs: z.number(),
});

/** A store as last seen: its identity and its newest numbers. */
export type Witness = z.infer<typeof witnessSchema>;

const fileSchema = witnessSchema.extend({ site: z.string() });

/** Keeps the witness in a file, as a store cannot say what it lost. */
export class WitnessFile {
  readonly #path: string;
  readonly #site: string;
  readonly #log: Logger;

  /** @param site the site in the store; a witness of another one is ignored */
  constructor(path: string, site: string, log: Logger) {
    this.#path = path;
    this.#site = site;
    this.#log = log;
  }

  /** Reads the witness; undefined at the first start. */
  async read(): Promise<Witness | undefined> {
    try {
      const { site, ...witness } = fileSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
      return site === this.#site ? witness : undefined;
    } catch (err) {
      if (systemErrorCode(err) !== 'ENOENT') {
        this.#log.error({ err, file: this.#path }, 'failed to read the witness of the store');
      }
      return undefined;
    }
  }

  async write(witness: Witness): Promise<void> {
    await writeDurably(this.#path, `${JSON.stringify({ site: this.#site, ...witness })}\n`);
  }
}
