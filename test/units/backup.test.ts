/** The file of a backup: what is read is what was written, or nothing. */
import { createWriteStream, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { expect, onTestFinished, test } from 'vitest';
import { readArchive, type Source, writeArchive } from '../../src/backup/archive.js';

const HEAD = { version: '1', layout: '2', site: 'site', madeAt: '', footage: true, entries: null };
const CHUNK = Buffer.alloc(65_536, 'x');

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-backup-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

/** A file of so many chunks, which may be gone after it has been opened so many times. */
function source(name: string, chunks: number, openings = 2, onOpen?: () => void): Source {
  let left = openings;
  const open = async () => {
    onOpen?.();
    return left-- > 0 ? Readable.from(Array.from({ length: chunks }, () => CHUNK)) : undefined;
  };
  return { name, bytes: chunks * CHUNK.length, changedAt: new Date(0), isOptional: true, open };
}

test('a recording that is removed meanwhile is left out', async () => {
  const file = join(directory(), 'backup.tar.gz');
  await writeArchive(file, HEAD, [
    source('footage/a', 3, 1),
    source('footage/b', 2),
    source('c', 1, 0),
  ]);
  const taken: string[] = [];
  const take = async ({ name }: { name: string }, content: AsyncIterable<Buffer>) => {
    let bytes = 0;
    for await (const chunk of content) bytes += chunk.length;
    taken.push(`${name} ${bytes / CHUNK.length}`);
  };
  await readArchive(file, { take });
  expect(taken).toEqual(['footage/b 2']);
});

test('a backup that is given up, or fails, leaves nothing', async () => {
  const made = directory();
  const stopping = new AbortController();
  let opened = 0;
  const stop = () => {
    // The second time it is written.
    if (++opened === 2) setImmediate(() => stopping.abort());
  };
  const sources = [source('a', 500, 2, stop)];
  const writing = writeArchive(join(made, 'x'), HEAD, sources, stopping.signal);
  await expect(writing).rejects.toThrow(/abort/);
  const short: Source = { ...source('a', 2), bytes: 3 * CHUNK.length };
  await expect(writeArchive(join(made, 'x'), HEAD, [short])).rejects.toThrow();
  expect(readdirSync(made)).toEqual([]);
});

test.each(['../outside', '/outside', 'a/../../outside'])(
  'a name outside is refused: %s',
  async (name) => {
    const made = directory();
    const file = join(made, 'backup.tar.gz');
    const files = [{ name, bytes: 1, sha256: '', isOptional: true }];
    await crafted(file, { ...HEAD, format: 1, files });
    await expect(readArchive(file)).rejects.toThrow('is damaged, or no backup');
    expect(existsSync(join(made, 'outside'))).toBe(false);
  },
);

test('another format is refused with the version to install', async () => {
  const file = join(directory(), 'backup.tar.gz');
  await crafted(file, { format: 2, version: '9.0.0' });
  await expect(readArchive(file)).rejects.toThrow('version 9.0.0 and has format 2');
});

/** Writes a backup with this manifest and nothing else. */
async function crafted(file: string, manifest: object): Promise<void> {
  const packed = pack();
  packed.entry({ name: 'manifest.json' }, JSON.stringify(manifest));
  packed.finalize();
  await pipeline(packed, createGzip(), createWriteStream(file));
}
