/**
 * The file of a backup: a compressed tar whose first entry, the manifest, names all others with sizes and checksums.
 *
 * The file gets its name only after it was written, read back and compared: a file with that name is always complete.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, type Pack, pack } from 'tar-stream';
import { z } from 'zod';
import { parseJson } from '../domain/json.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import { syncDirectory, unlessMissing } from '../files.js';

/** Of the manifest and the names; another one cannot be read. */
export const FORMAT = 1;
const MANIFEST = 'manifest.json';
/** Ends the name of a file that is not complete. */
export const DRAFT_SUFFIX = '.partial';
/** The processor of a box has alarms to forward. */
const COMPRESSION = { level: 1 };
/** Bytes between two syncs: written back all at once, they would hold up the store's own, which alarms wait for. */
const SYNC_EVERY_BYTES = 4 * 1024 * 1024;
const FILE_MODE = 0o600;

const name = z.string().refine(isBelow);
const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** Of the gateway that made it. */
  version: z.string(),
  layout: z.string(),
  site: z.string(),
  madeAt: z.string(),
  /** Whether recordings are in it. */
  footage: z.boolean(),
  /** The numbers of the oldest and newest entry of the history when it began; null for none. */
  entries: z.object({ from: z.number(), to: z.number() }).nullable(),
  files: z.array(
    z.object({ name, bytes: z.int().min(0), sha256: z.string(), isOptional: z.boolean() }),
  ),
});
export type Manifest = Readonly<z.infer<typeof manifestSchema>>;
export type ManifestHead = Omit<Manifest, 'format' | 'files'>;
export type ArchivedFile = Manifest['files'][number];

/** Whether a path stays below the directory that it is joined to. */
function isBelow(path: string): boolean {
  return path.split('/').every((part) => !['', '.', '..'].includes(part));
}

/** A file to put into a backup. Whatever is read has these bytes, each time. */
export interface Source {
  readonly name: string;
  readonly bytes: number;
  readonly changedAt: Date;
  /** Whether it may be removed while the backup is made, and is left out then. */
  readonly isOptional: boolean;
  /** Undefined if it has been removed. */
  open(): Promise<Readable | undefined>;
}

/**
 * Writes a backup, which `path` names once it is complete and read back.
 *
 * @throws GatewayError `start-failed` if there is a file already, or what was written cannot be read back
 */
export async function writeArchive(
  path: string,
  head: ManifestHead,
  sources: readonly Source[],
  signal?: AbortSignal,
): Promise<void> {
  if ((await unlessMissing(lstat(path))) !== undefined) {
    throw new GatewayError('start-failed', `${path} exists already: name a new file`);
  }
  const draft = path + DRAFT_SUFFIX;
  try {
    await rm(draft, { force: true });
    const files: ArchivedFile[] = [];
    for (const source of sources) files.push(...(await digested(source, signal)));
    const packed = pack();
    const filling = fill(packed, { ...head, format: FORMAT, files }, sources);
    // The pipeline fails with it.
    filling.catch((error: Error) => packed.destroy(error));
    const written = (chunks: AsyncIterable<Buffer>) => writeSynced(draft, chunks);
    await pipeline(packed, createGzip(COMPRESSION), written, { signal });
    await filling;
    await readArchive(draft, { signal });
    await rename(draft, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The entry of the manifest; none if the file has been removed. */
async function digested(source: Source, signal: AbortSignal | undefined): Promise<ArchivedFile[]> {
  const { name, bytes, isOptional } = source;
  const content = await source.open();
  if (content === undefined) return [];
  const hash = createHash('sha256');
  for await (const chunk of content) {
    signal?.throwIfAborted();
    hash.update(chunk);
  }
  return [{ name, bytes, sha256: hash.digest('hex'), isOptional }];
}

async function fill(packed: Pack, manifest: Manifest, sources: readonly Source[]): Promise<void> {
  packed.entry({ name: MANIFEST, mode: FILE_MODE }, `${JSON.stringify(manifest)}\n`);
  const listed = new Set(manifest.files.map((file) => file.name));
  for (const { name, bytes, changedAt, open } of sources) {
    const content = listed.has(name) ? await open() : undefined;
    if (content === undefined) continue;
    await pipeline(content, packed.entry({ name, size: bytes, mtime: changedAt, mode: FILE_MODE }));
  }
  packed.finalize();
}

async function writeSynced(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    let unsyncedBytes = 0;
    for await (const chunk of chunks) {
      await file.writeFile(chunk);
      unsyncedBytes += chunk.length;
      if (unsyncedBytes < SYNC_EVERY_BYTES) continue;
      await file.datasync();
      unsyncedBytes = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

export interface ReadOptions {
  /** Called with the manifest, before anything else is read. */
  readonly begin?: (manifest: Manifest) => void;
  /** Takes the whole content of a file; it is compared with its checksum after the last of it. */
  readonly take?: (
    file: ArchivedFile & { readonly changedAt: Date },
    content: AsyncIterable<Buffer>,
  ) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a backup to its end, and compares everything with its checksum.
 *
 * @throws GatewayError `start-failed` when it is damaged, of another format, or no backup; whatever `begin` throws
 */
export async function readArchive(
  path: string,
  { begin, take = drain, signal }: ReadOptions = {},
): Promise<Manifest> {
  const entries = extract();
  const reading = pipeline(createReadStream(path), createGunzip(), entries, { signal });
  // The loop fails with it.
  reading.catch(() => undefined);
  let manifest: Manifest | undefined;
  const left = new Map<string, ArchivedFile>();
  try {
    for await (const entry of entries) {
      if (manifest === undefined) {
        manifest = await readManifest(entry.header.name, entry);
        for (const file of manifest.files) left.set(file.name, file);
        begin?.(manifest);
        continue;
      }
      const file = left.get(entry.header.name);
      if (file === undefined) throw damaged(path);
      left.delete(file.name);
      const hash = createHash('sha256');
      await take({ ...file, changedAt: entry.header.mtime ?? new Date(0) }, hashing(hash, entry));
      if (hash.digest('hex') !== file.sha256) throw damaged(path);
    }
    await reading;
  } catch (error) {
    signal?.throwIfAborted();
    // What the disk or the file system says is no damage.
    if (error instanceof GatewayError || systemErrorCode(error) !== undefined) throw error;
    throw damaged(path, error);
  }
  const isWhole = [...left.values()].every(({ isOptional }) => isOptional);
  if (manifest === undefined || !isWhole) throw damaged(path);
  return manifest;
}

async function readManifest(name: string, content: AsyncIterable<Buffer>): Promise<Manifest> {
  const chunks: Buffer[] = [];
  if (name === MANIFEST) for await (const chunk of content) chunks.push(chunk);
  const read = parseJson(Buffer.concat(chunks).toString());
  const { format, version } = z
    .object({ format: z.number(), version: z.string() })
    .parse(read, { error: () => 'no manifest' });
  if (format === FORMAT) return manifestSchema.parse(read);
  const made = `the backup was made by version ${version} and has format ${format}`;
  throw new GatewayError('start-failed', `${made}: install that version to restore it`);
}

async function* hashing(hash: ReturnType<typeof createHash>, content: AsyncIterable<Buffer>) {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

async function drain(_: ArchivedFile, content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _chunk of content);
}

function damaged(path: string, cause?: unknown): GatewayError {
  return new GatewayError('start-failed', `${path} is damaged, or no backup`, { cause });
}
