/**
 * The recordings kept by the gateway itself, one file for each object key.
 *
 * A file appears whole, is never written again, and goes with its device or with the history.
 */
import type { Dirent } from 'node:fs';
import { type FileHandle, link, lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Logger } from 'pino';
import { parseRecordingKey, type Recording } from '../domain/footage.js';
import { newId } from '../domain/ids.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import type { Retention } from '../releasers.js';
import { diskFull, ifThere, type Room } from './room.js';
import type { SignedRequest, SignedUrls } from './signed-urls.js';

/** An incoming upload. */
export interface Upload {
  readonly recording: Recording;
  /** Value of `Content-Length`, undefined without one. */
  readonly announcedBytes: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** An open recording. */
export interface RecordingFile {
  readonly recording: Recording;
  readonly bytes: number;
  readonly modifiedAtMs: number;
  /** Reads from this position into the buffer; returns the number of bytes. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** Closes the file; must be called. */
  close(): Promise<void>;
}

/** Access for the gateway's own user only. */
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
/** The directory of drafts, next to those of the devices, whose names are UUIDs. */
const DRAFTS = '.uploads';
/**
 * Bytes written between two fsyncs: a video written back all at once would hold up the store's own fsync,
 * which every alarm waits for.
 */
const SYNC_EVERY_BYTES = 4 * 1024 * 1024;
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

export interface FootageFolderOptions {
  readonly directory: string;
  readonly urls: Pick<SignedUrls, 'check'>;
  readonly room: Room;
  /** Whether the device exists: it may be deleted during an upload. */
  readonly isKnown: (deviceId: string) => boolean;
  readonly maxUploadBytes: number;
  readonly maxAgeMs: number;
  /** The clock that ages are measured by. */
  readonly steadyNow: () => number;
  readonly log: Logger;
}

export class FootageFolder implements Retention {
  readonly #options: FootageFolderOptions;

  constructor(options: FootageFolderOptions) {
    this.#options = options;
  }

  /**
   * Creates the folder, and removes the half-uploaded files of a killed gateway.
   *
   * Must run before any upload.
   */
  async prepare(): Promise<void> {
    const { directory } = this.#options;
    await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await rm(join(directory, DRAFTS), { recursive: true, force: true });
  }

  /** @throws GatewayError `forbidden` when the signature is wrong, of another request, or expired */
  authorize(request: SignedRequest): void {
    this.#options.urls.check(request);
  }

  /** @throws GatewayError `footage-not-found`, `store-unavailable` */
  async open(key: string): Promise<RecordingFile> {
    const recording = parseRecordingKey(key);
    if (recording === undefined) throw footageNotFound();
    try {
      const handle = await ifThere(open(join(this.#options.directory, key)), undefined);
      if (handle === undefined) throw footageNotFound();
      const { size, ctimeMs } = await handle.stat();
      return {
        recording,
        bytes: size,
        // `ctime` is by the machine's clock; `mtime` holds the steady one.
        modifiedAtMs: ctimeMs,
        read: async (buffer, position) =>
          (await handle.read(buffer, 0, buffer.length, position)).bytesRead,
        close: () => handle.close(),
      };
    } catch (error) {
      throw fileFailure(error);
    }
  }

  /**
   * Stores the whole upload or nothing. After a failure the rest of it is unread.
   *
   * @throws GatewayError `body-too-large`, `footage-already-uploaded`, `insufficient-storage`, `invalid-request` when it
   *   ends early, `store-unavailable`, `too-many-requests` when the device has too many uploads under way
   */
  async receive({ recording, announcedBytes = 0, chunks }: Upload): Promise<void> {
    const { directory, room, maxUploadBytes } = this.#options;
    const { key, deviceId } = recording;
    if (announcedBytes > maxUploadBytes) throw this.#tooLarge();
    const [path, draft] = [join(directory, key), join(directory, DRAFTS, newId())];
    try {
      await room.use(deviceId, announcedBytes, async (take) => {
        if ((await ifThere(lstat(path), undefined)) !== undefined) throw alreadyUploaded();
        for (const file of [draft, path]) {
          await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
        }
        try {
          await this.#write(draft, chunks, take);
          await publish(draft, path);
        } finally {
          await rm(draft, { force: true });
        }
        if (this.#options.isKnown(deviceId)) return;
        await this.removeAllOf(deviceId);
        throw footageNotFound();
      });
    } catch (error) {
      throw fileFailure(error);
    }
  }

  /** Removes a recording; one that is not there counts as removed. @throws GatewayError `store-unavailable` */
  async remove(key: string): Promise<void> {
    if (parseRecordingKey(key) === undefined) return;
    await rm(join(this.#options.directory, key), { force: true }).catch((error: unknown) => {
      throw fileFailure(error);
    });
  }

  /** Removes all recordings of a deleted device, which immediately makes room for others. */
  async removeAllOf(deviceId: string): Promise<void> {
    await rm(join(this.#options.directory, deviceId), { recursive: true, force: true });
  }

  /** Removes recordings as old as expired alarms (contract 5). Returns their number. */
  async removeOld(stopping: AbortSignal): Promise<number> {
    const { directory, log } = this.#options;
    let removed = 0;
    for (const device of await readdir(directory, { withFileTypes: true })) {
      if (!device.isDirectory()) continue;
      const listed = readdir(join(directory, device.name), {
        recursive: true,
        withFileTypes: true,
      });
      try {
        for (const entry of await ifThere(listed, [])) {
          if (stopping.aborted) return removed;
          if (await this.#removeIfOld(entry)) removed++;
        }
      } catch (error) {
        const [deviceId, err] = [device.name, error];
        log.warn({ deviceId, err }, 'failed to remove old recordings of a device, retrying');
      }
    }
    return removed;
  }

  async #removeIfOld(entry: Dirent): Promise<boolean> {
    const { directory, maxAgeMs, steadyNow } = this.#options;
    const path = join(entry.parentPath, entry.name);
    const isRecording = parseRecordingKey(relative(directory, path)) !== undefined;
    if (!isRecording || !entry.isFile()) return false;
    const status = await ifThere(lstat(path), undefined);
    if (status === undefined || status.mtimeMs >= steadyNow() - maxAgeMs) return false;
    await rm(path, { force: true });
    return true;
  }

  async #write(
    draft: string,
    chunks: Upload['chunks'],
    take: (bytes: number) => Promise<void>,
  ): Promise<void> {
    const { maxUploadBytes, steadyNow } = this.#options;
    await withFile(await open(draft, 'wx', FILE_MODE), async (handle) => {
      let totalBytes = 0;
      let unsyncedBytes = 0;
      for await (const chunk of chunks) {
        totalBytes += chunk.length;
        unsyncedBytes += chunk.length;
        if (totalBytes > maxUploadBytes) throw this.#tooLarge();
        await take(chunk.length);
        await handle.writeFile(chunk);
        if (unsyncedBytes < SYNC_EVERY_BYTES) continue;
        await handle.datasync();
        unsyncedBytes = 0;
      }
      // A recording's age counts from the end of the upload, by the retention's clock.
      const completedAt = new Date(steadyNow());
      await handle.utimes(completedAt, completedAt);
      await handle.sync();
    });
  }

  #tooLarge(): GatewayError {
    const detail = `A recording must not exceed ${this.#options.maxUploadBytes} bytes.`;
    return new GatewayError('body-too-large', detail);
  }
}

async function withFile(
  handle: FileHandle,
  use: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    await use(handle);
  } finally {
    await handle.close();
  }
}

/** Publishes a draft by a hard link, which unlike a rename replaces nothing: the first upload wins. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    throw systemErrorCode(error) === 'EEXIST' ? alreadyUploaded() : error;
  }
  await withFile(await open(dirname(path)), (directory) => directory.sync());
}

/** The caller's error for a failure of the file system. */
function fileFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (FULL.includes(systemErrorCode(error) ?? '')) return diskFull(error);
  return new GatewayError('store-unavailable', 'The recordings cannot be reached.', {
    cause: error,
  });
}

function footageNotFound(): GatewayError {
  return new GatewayError('footage-not-found', 'There is no such recording.');
}

function alreadyUploaded(): GatewayError {
  return new GatewayError('footage-already-uploaded', 'Something was uploaded to this URL before.');
}
