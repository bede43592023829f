import { constants } from 'node:fs';
import { access, type FileHandle, link, mkdir, open, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseRecordingKey, type Recording } from '../domain/footage.js';
import { newId } from '../domain/ids.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import type { FootageFiles, RecordingFile, SignedRequest, Upload } from '../site/footage-store.js';
import type { DiskReserve } from './disk-reserve.js';
import { fileFailure, footageNotFound, isAbsent } from './file-failures.js';
import type { FolderFootageStore } from './folder-footage-store.js';
import type { FootageQuota, Taken } from './footage-quota.js';

/** Access for the gateway's own user only. */
export const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** The directory of drafts, next to those of the devices, whose names are UUIDs. */
export const DRAFTS = '.uploads';
/**
 * Bytes written between two fsyncs: a video written back all at once would hold up the store's own fsync,
 * which every alarm waits for.
 */
const SYNC_EVERY_BYTES = 4 * 1024 * 1024;

export interface FootageFolderOptions {
  readonly directory: string;
  /** Signs the URLs. */
  readonly store: Pick<FolderFootageStore, 'check'>;
  readonly reserve: DiskReserve;
  readonly quota: FootageQuota;
  /** Whether the device exists: it may be deleted during an upload. */
  readonly isKnown: (deviceId: string) => boolean;
  readonly maxUploadBytes: number;
  /** The clock that ages are measured by. */
  readonly steadyNow: () => number;
}

/**
 * The recordings kept by the gateway itself, one file for each object key.
 *
 * A file appears whole and is never written again.
 */
export class FootageFolder implements FootageFiles {
  readonly #options: FootageFolderOptions;

  constructor(options: FootageFolderOptions) {
    this.#options = options;
  }

  authorize(request: SignedRequest): void {
    this.#options.store.check(request);
  }

  async open(key: string): Promise<RecordingFile> {
    const recording = parseRecordingKey(key);
    if (recording === undefined) throw footageNotFound();
    try {
      return await fileOf(recording, await this.#openFile(key));
    } catch (error) {
      throw isAbsent(error) ? footageNotFound() : fileFailure(error);
    }
  }

  async receive(upload: Upload): Promise<void> {
    if ((upload.announcedBytes ?? 0) > this.#options.maxUploadBytes) throw this.#tooLarge();
    const { recording, announcedBytes = 0, chunks } = upload;
    const taken = await this.#options.quota.begin(recording, announcedBytes);
    let isKept = false;
    try {
      await this.#keep({ ...upload, chunks: counted(chunks, taken) });
      isKept = true;
    } finally {
      taken.end(isKept);
    }
  }

  /** Removes all recordings of a deleted device, which immediately makes room for others. */
  async removeAllOf(deviceId: string): Promise<void> {
    await rm(join(this.#options.directory, deviceId), { recursive: true, force: true });
    this.#options.quota.forget(deviceId);
  }

  async #keep({ recording, announcedBytes, chunks }: Upload): Promise<void> {
    const { directory, reserve, isKnown } = this.#options;
    const path = join(directory, recording.key);
    const draft = join(directory, DRAFTS, newId());
    try {
      if (await exists(path)) throw alreadyUploaded();
      await mkdir(dirname(draft), { recursive: true, mode: DIRECTORY_MODE });
      await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
      await reserve.require(announcedBytes ?? 0);
      try {
        await this.#write(draft, chunks);
        await publish(draft, path);
        if (!isKnown(recording.deviceId)) {
          await this.removeAllOf(recording.deviceId);
          throw footageNotFound();
        }
      } finally {
        await rm(draft, { force: true });
      }
    } catch (error) {
      throw fileFailure(error);
    }
  }

  /** Opens the file; neither it nor a directory above it may be a link out of the folder. */
  async #openFile(key: string): Promise<FileHandle> {
    const root = await realpath(this.#options.directory);
    const path = join(root, key);
    if ((await realpath(path)) !== path) throw footageNotFound();
    return open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  async #write(draft: string, chunks: Upload['chunks']): Promise<void> {
    const { reserve, maxUploadBytes, steadyNow } = this.#options;
    const handle = await open(draft, 'wx', FILE_MODE);
    try {
      let totalBytes = 0;
      let unsyncedBytes = 0;
      for await (const chunk of chunks) {
        totalBytes += chunk.length;
        unsyncedBytes += chunk.length;
        if (totalBytes > maxUploadBytes) throw this.#tooLarge();
        // Whatever fills the disk: this upload, others, or something else.
        await reserve.require(chunk.length);
        await handle.writeFile(chunk);
        if (unsyncedBytes < SYNC_EVERY_BYTES) continue;
        await handle.datasync();
        unsyncedBytes = 0;
      }
      // A recording's age counts from the end of the upload, by the retention's clock.
      const completedAt = new Date(steadyNow());
      await handle.utimes(completedAt, completedAt);
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  #tooLarge(): GatewayError {
    const { maxUploadBytes } = this.#options;
    return new GatewayError(
      'body-too-large',
      `A recording must not exceed ${maxUploadBytes} bytes.`,
    );
  }
}

/** Counts what arrives against the device's quota. */
async function* counted(chunks: Upload['chunks'], taken: Taken): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    taken.take(chunk.length);
    yield chunk;
  }
}

async function fileOf(recording: Recording, handle: FileHandle): Promise<RecordingFile> {
  const status = await handle.stat();
  if (!status.isFile()) {
    await handle.close();
    throw footageNotFound();
  }
  return {
    recording,
    bytes: status.size,
    // `ctime` is by the machine's clock; `mtime` holds the steady one.
    modifiedAtMs: status.ctimeMs,
    read: async (buffer, position) =>
      (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
    close: () => handle.close(),
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path, constants.F_OK);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Publishes a draft by a hard link, which unlike a rename replaces nothing: the first upload wins. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    throw systemErrorCode(error) === 'EEXIST' ? alreadyUploaded() : error;
  }
  const directory = await open(dirname(path), constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function alreadyUploaded(): GatewayError {
  return new GatewayError('footage-already-uploaded', 'Something was uploaded to this URL before.');
}
