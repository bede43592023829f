/**
 * Makes backups of a data directory with the gateway's own store, and restores them.
 *
 * A backup is made of files alone, the same way whether the gateway runs or not: whatever was acknowledged is in the
 * append-only file, and an open one stays whole whatever the store does to it meanwhile. What the store writes later is
 * left out, at any byte; the next start cuts the rest of a command.
 */
import { type Dirent, existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import type { Config } from '../config/schema.js';
import { isEmbeddedStore } from '../config/store-schema.js';
import { formatTime } from '../domain/time.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import { ADMIN_TOKEN_FILE, createDataDirectory, syncDirectory, unlessMissing } from '../files.js';
import { LOCK, lockDataDirectory, spareBytes } from '../store/data-directory.js';
import { type OpenedFiles, openAppendOnlyFiles } from '../store/embedded/append-only-file.js';
import { RESTORED_FILE } from '../store/restored.js';
import { LAYOUT } from '../store/server/check.js';
import { seenEntries, WITNESS_FILE } from '../store/witness.js';
import { type Manifest, readArchive, type Source, writeArchive } from './archive.js';

const STORE = 'redis';
const FOOTAGE = 'footage';
/** Beside the store; what is missing is left out. */
const SMALL_FILES = [ADMIN_TOKEN_FILE, 'installation.key'];
const TLS = 'tls';
/** Access for the gateway's own user only. */
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export interface BackupOptions {
  readonly config: Pick<Config, 'dataDir' | 'redis' | 'site' | 'footage'>;
  readonly version: string;
  /** The new file. */
  readonly file: string;
  /** Whether recordings are in it. */
  readonly hasFootage: boolean;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
}

export interface MadeBackup {
  readonly bytes: number;
  readonly entries: Manifest['entries'];
}

/**
 * Makes a backup that holds every alarm acknowledged before the call.
 *
 * @throws GatewayError `start-failed` with what to do
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { config, version, file, hasFootage, nowMs, signal } = options;
  const { dataDir, redis, site } = config;
  if (!isEmbeddedStore(redis)) {
    throw new GatewayError(
      'start-failed',
      "the store is not the gateway's own: back it up by its own means (redis.io: persistence), and dataDir beside it",
    );
  }
  try {
    const entries = (await seenEntries(join(dataDir, WITNESS_FILE))) ?? null;
    const store = await openAppendOnlyFiles(join(dataDir, STORE));
    try {
      const sources = await sourcesOf(
        dataDir,
        store,
        hasFootage && config.footage.s3 === undefined,
      );
      await requireRoom(dirname(file), sources);
      const madeAt = formatTime(nowMs);
      const head = { version, layout: LAYOUT, site, madeAt, footage: hasFootage, entries };
      await writeArchive(file, head, sources, signal);
      return { bytes: (await lstat(file)).size, entries };
    } finally {
      await Promise.all(store.files.map(({ handle }) => handle.close()));
    }
  } catch (error) {
    throw explained('the backup failed', error);
  }
}

/** All files of a backup. The last is the one without which a server takes no notice of the others. */
async function sourcesOf(
  dataDir: string,
  { files, manifest }: OpenedFiles,
  hasFootage: boolean,
): Promise<Source[]> {
  const small = [...SMALL_FILES, ...(await filesBelow(dataDir, TLS))];
  const recordings = hasFootage ? await filesBelow(dataDir, FOOTAGE) : [];
  const found = await Promise.all([
    ...small.map((name) => smallFile(dataDir, name)),
    ...recordings.map((name) => recording(dataDir, name)),
  ]);
  const appended = await Promise.all(
    files.map(async ({ name, handle }): Promise<Source> => {
      const { size: bytes, mtime: changedAt } = await handle.stat();
      const range = { start: 0, end: bytes - 1, autoClose: false };
      const open = async () => (bytes === 0 ? Readable.from([]) : handle.createReadStream(range));
      return { name: `${STORE}/${name}`, bytes, changedAt, isOptional: false, open };
    }),
  );
  const last = manifest && inMemory(`${STORE}/${manifest.name}`, Buffer.from(manifest.text));
  return [...found, ...appended, last].filter((source) => source !== undefined);
}

/** The paths of the files in a part of the data directory; none of half-uploaded ones. */
async function filesBelow(dataDir: string, part: string): Promise<string[]> {
  const options = { recursive: true, withFileTypes: true } as const;
  const all: Dirent[] = (await unlessMissing(readdir(join(dataDir, part), options))) ?? [];
  return all
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => relative(dataDir, join(parentPath, name)))
    .filter((path) => !path.split('/').some((name) => name.startsWith('.')));
}

async function smallFile(dataDir: string, name: string): Promise<Source | undefined> {
  const content = await unlessMissing(readFile(join(dataDir, name)));
  return content && inMemory(name, content);
}

function inMemory(name: string, content: Buffer): Source {
  const open = async () => Readable.from([content]);
  return { name, bytes: content.length, changedAt: new Date(), isOptional: false, open };
}

/** A recording, which goes with its device or its age at any time. */
async function recording(dataDir: string, name: string): Promise<Source | undefined> {
  const path = join(dataDir, name);
  const found = await unlessMissing(lstat(path));
  return (
    found && {
      name,
      bytes: found.size,
      changedAt: found.mtime,
      isOptional: true,
      open: async () => (await unlessMissing(open(path)))?.createReadStream(),
    }
  );
}

/** A backup must not fill the disk of the store. */
async function requireRoom(directory: string, sources: readonly Source[]): Promise<void> {
  const bytes = sources.reduce((sum, source) => sum + source.bytes, 0);
  if (bytes < (await spareBytes(directory))) return;
  throw new GatewayError(
    'start-failed',
    `${directory} has no room for a backup: it may take ${sizeText(bytes)}`,
  );
}

export interface RestoreOptions {
  readonly file: string;
  readonly config: Pick<Config, 'dataDir' | 'redis' | 'site'>;
  /** Whether it is only verified. */
  readonly isDry: boolean;
}

/**
 * Restores a backup into an empty or missing data directory. Verifies all of it before it writes anything.
 *
 * @throws GatewayError `start-failed` with what to do, and the directory as it was
 */
export async function restoreBackup({ file, config, isDry }: RestoreOptions): Promise<Manifest> {
  const { dataDir, redis, site } = config;
  if (!isEmbeddedStore(redis)) {
    const detail = "a backup is for the gateway's own store: leave out redis.url and the like";
    throw new GatewayError('start-failed', detail);
  }
  let unlock = existsSync(join(dataDir, LOCK)) ? lockDataDirectory(dataDir) : undefined;
  try {
    const present = await namesIn(dataDir);
    if (present.length > 0) {
      const detail = `${dataDir} is not empty, it has ${present.join(', ')}: move it away first`;
      throw new GatewayError('start-failed', detail);
    }
    const manifest = await readArchive(file, { begin: (read) => requireFitting(read, site) });
    if (isDry) return manifest;
    await createDataDirectory(dataDir);
    // What root restores, the gateway's user could not read.
    if ((await lstat(dataDir)).uid !== process.getuid?.()) {
      throw new GatewayError('start-failed', `run it as the owner of ${dataDir}`);
    }
    unlock ??= lockDataDirectory(dataDir);
    await extractTo(dataDir, file);
    return manifest;
  } catch (error) {
    throw explained('the restore failed', error);
  } finally {
    unlock?.();
  }
}

/** The names of the files in a directory, without its lock; none if the directory is missing. */
async function namesIn(directory: string): Promise<string[]> {
  return ((await unlessMissing(readdir(directory))) ?? []).filter((name) => name !== LOCK);
}

function requireFitting({ layout, version, site }: Manifest, ownSite: string): void {
  if (layout !== LAYOUT) {
    throw new GatewayError(
      'start-failed',
      `the backup has store layout ${layout}, and this program has ${LAYOUT}: install version ${version} to restore it`,
    );
  }
  if (site === ownSite) return;
  const detail = `the backup is of the site ${site}, and the configuration has ${ownSite}: set site`;
  throw new GatewayError('start-failed', detail);
}

async function extractTo(dataDir: string, file: string): Promise<void> {
  const directories = new Set([dataDir]);
  try {
    // First: no server may start on these files without it.
    await writeFile(join(dataDir, RESTORED_FILE), '', { mode: FILE_MODE, flush: true });
    await readArchive(file, {
      take: async ({ name, changedAt }, content) => {
        const path = join(dataDir, name);
        directories.add(dirname(path));
        await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
        await writeFile(path, content, { mode: FILE_MODE, flush: true });
        // The age of a recording.
        await utimes(path, changedAt, changedAt);
      },
    });
    for (const directory of directories) await syncDirectory(directory);
  } catch (error) {
    const written = (await namesIn(dataDir)).map((name) => join(dataDir, name));
    await Promise.all(written.map((path) => rm(path, { recursive: true, force: true })));
    throw error;
  }
}

/** A failure of the disk or of its rights in words. */
function explained(what: string, error: unknown): unknown {
  if (systemErrorCode(error) === undefined || !(error instanceof Error)) return error;
  return new GatewayError('start-failed', `${what}: ${error.message}`, { cause: error });
}

const KIB = 1024;
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB'];

/** A size for people: `12.3 MiB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log(Math.max(1, bytes)) / Math.log(KIB)), 3);
  return `${(bytes / KIB ** power).toFixed(power > 0 ? 1 : 0)} ${UNITS[power]}`;
}
