import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GatewayError, systemErrorCode } from '../../errors.js';
import { syncDirectory, writeDurably } from '../durable-file.js';
import type { AuditArchiveFaults } from './faults.js';
import type { StoredRecord } from './records.js';
import {
  type AuditSegment,
  recordsIn,
  segmentContent,
  segmentName,
  segmentNamed,
} from './segment.js';

/** Access for the gateway's own user only. */
const DIRECTORY_MODE = 0o700;
/** A segment until it is whole; one that a killed gateway left is overwritten by the next. */
const DRAFT = 'draft';

/** The older records of the audit trail, in files on the disk, each written at once and never changed. */
export class AuditArchive {
  readonly #directory: string;
  readonly #faults: AuditArchiveFaults;
  /** By name. */
  readonly #segments = new Map<string, AuditSegment>();
  #loading: Promise<void> | undefined;
  /** One at a time, as the archiver and retention share the draft. */
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string, faults: AuditArchiveFaults) {
    this.#directory = directory;
    this.#faults = faults;
  }

  /**
   * Lists the segments, unless that is done.
   *
   * Until this succeeds, which is a fault, the archive counts as empty.
   *
   * @throws GatewayError `insufficient-storage` when the directory cannot be read
   */
  async load(): Promise<void> {
    this.#loading ??= this.#load();
    try {
      await this.#loading;
    } catch (cause) {
      this.#loading = undefined;
      this.#faults.cannotLoad(cause);
      throw unusable(cause);
    }
  }

  /** @throws GatewayError `insufficient-storage` when the disk refuses */
  async makeDirectory(): Promise<void> {
    try {
      const first = await mkdir(this.#directory, { recursive: true, mode: DIRECTORY_MODE });
      if (first !== undefined) await syncDirectory(dirname(first));
    } catch (cause) {
      throw unusable(cause);
    }
  }

  segments(): readonly AuditSegment[] {
    return [...this.#segments.values()];
  }

  /** Reads a segment; undefined when it is gone or, which is a fault, unreadable. */
  async read(segment: AuditSegment): Promise<readonly StoredRecord[] | undefined> {
    const path = this.#path(segment.name);
    try {
      const records = await recordsIn(segment.name, await readFile(path));
      this.#faults.readable(path);
      return records;
    } catch (error) {
      // A segment that retention removed meanwhile is not unreadable.
      if (this.#segments.has(segment.name)) this.#faults.cannotRead(path, error);
      return undefined;
    }
  }

  /**
   * Stores these records, durably once it resolves.
   *
   * @param records at least one
   * @throws GatewayError `insufficient-storage` when the disk does not take them
   */
  write(records: readonly StoredRecord[]): Promise<void> {
    const written = this.#writing.then(() => this.#write(records));
    // The caller gets the error; the next one goes ahead all the same.
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(records: readonly StoredRecord[]): Promise<void> {
    const name = segmentName(records);
    const path = this.#path(name);
    const content = await segmentContent(records);
    await this.makeDirectory();
    try {
      await writeDurably(path, content, join(this.#directory, DRAFT));
    } catch (cause) {
      throw unusable(cause);
    }
    this.#list(name);
    // A damaged one of that name was overwritten.
    this.#faults.readable(path);
  }

  /** @throws GatewayError `insufficient-storage` when the disk refuses */
  async remove({ name }: AuditSegment): Promise<void> {
    const path = this.#path(name);
    // Dropped first, so that no page looks for a file that is gone.
    this.#segments.delete(name);
    try {
      await rm(path, { force: true });
      await syncDirectory(dirname(path));
    } catch (cause) {
      this.#list(name);
      throw unusable(cause);
    }
    this.#faults.readable(path);
  }

  async #load(): Promise<void> {
    for (const name of await namesBelow(this.#directory)) this.#list(name);
    this.#faults.loaded();
  }

  /** Adds the segment of that name; another file is none. */
  #list(name: string): void {
    const segment = segmentNamed(name);
    if (segment !== undefined) this.#segments.set(name, segment);
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

/** The paths below a directory; none when it does not exist. */
async function namesBelow(directory: string): Promise<string[]> {
  try {
    return await readdir(directory, { recursive: true });
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The caller's error for a failure of the file system. */
function unusable(cause: unknown): GatewayError {
  return new GatewayError('insufficient-storage', 'The disk does not take the audit trail.', {
    cause,
  });
}
