import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { fault } from '../../domain/faults/faults.js';
import { formatTime } from '../../domain/notation.js';
import type { Health } from '../../site/health/health.js';
import { unlessMissing, writeDurably } from '../durable-file.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';
import { newestNumber, parseRecord, readRecords, type StoredRecord } from './records.js';

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const NEWLINE = 0x0a;
const DATE_LENGTH = 'YYYY-MM-DD'.length;
const FAULT = fault('auditExportFailing');

export interface AuditExportOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly directory: string;
  readonly health: Health;
  readonly log: Logger;
}

/**
 * Appends each audit record, as a line of JSON, to the file of its day.
 *
 * A record may appear twice: after a crash, or after the store went back to an earlier state.
 */
export class AuditExport {
  readonly #options: AuditExportOptions;
  #isFailing = false;

  constructor(options: AuditExportOptions) {
    this.#options = options;
  }

  /** Exports new records. A failure of the disk is a fault; others report a failure of the store. */
  async run(): Promise<void> {
    const { store, keys, directory, health } = this.#options;
    const streams = [keys.auditChanges, keys.auditDenials];
    /** Holds the number of the last exported record. */
    const positionFile = join(directory, 'exported');
    const text = await this.#onDisk(() => unlessMissing(readFile(positionFile, 'utf8')));
    const exported = Number(text ?? 0) || 0;
    const upTo = await newestNumber(store, streams);
    // The store was emptied or set back: better to export its records twice than not at all.
    let after: number | undefined = exported > upTo ? 0 : exported;
    while (after !== undefined && after < upTo) {
      const { records, end } = await readRecords(store, streams, 'asc', after, upTo);
      await this.#onDisk(async () => {
        await appendRecords(directory, records);
        await writeDurably(positionFile, `${end ?? upTo}\n`);
      });
      after = end;
    }
    health.report(FAULT.code, undefined);
    this.#isFailing = false;
  }

  async #onDisk<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (err) {
      const { health, log } = this.#options;
      if (!this.#isFailing) log.error({ err }, 'failed to export audit records, retrying');
      this.#isFailing = true;
      health.report(FAULT.code, FAULT);
      throw err;
    }
  }
}

async function appendRecords(directory: string, stored: readonly StoredRecord[]): Promise<void> {
  await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  const days = new Map<string, string>();
  for (const record of stored.map(parseRecord)) {
    if (record === undefined) continue;
    const { sequence, atMs, ...entry } = record;
    const at = formatTime(atMs);
    const day = at.slice(0, DATE_LENGTH);
    const line = JSON.stringify({ id: String(sequence), at, ...entry });
    days.set(day, `${days.get(day) ?? ''}${line}\n`);
  }
  for (const [day, lines] of days) await appendLines(join(directory, `${day}.jsonl`), lines);
}

/** Appends lines durably. If a crash has cut the last line short, ends that first. */
async function appendLines(path: string, lines: string): Promise<void> {
  const file = await open(path, 'a+', FILE_MODE);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    const isCutShort = size > 0 && buffer[0] !== NEWLINE;
    await file.appendFile(isCutShort ? `\n${lines}` : lines);
    await file.sync();
  } finally {
    await file.close();
  }
}
