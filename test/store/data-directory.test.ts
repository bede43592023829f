import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDataDirectory, loadSecret } from '../../src/files.js';
import { lockDataDirectory } from '../../src/store/data-directory.js';
import { recordingLog, temporaryDirectory } from './embedded-support.js';

async function loadAdminToken(dataDir: string, log = recordingLog().log): Promise<string> {
  return (await loadSecret(join(dataDir, 'admin.token'), log)).text;
}

describe('the directory', () => {
  test('is created for the gateway’s user only, and left unchanged when it exists', async () => {
    const dataDir = join(temporaryDirectory(), 'a', 'b');
    await createDataDirectory(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    const existing = join(temporaryDirectory(), 'c');
    mkdirSync(existing, { mode: 0o755 });
    await createDataDirectory(existing);
    expect(statSync(existing).mode & 0o777).toBe(0o755);
  });

  test('is refused when a file is in its place', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    await expect(createDataDirectory(file)).rejects.toMatchObject({ code: 'start-failed' });
  });

  test('is locked by one gateway at a time', () => {
    const dataDir = temporaryDirectory();
    const release = lockDataDirectory(dataDir);
    expect(() => lockDataDirectory(dataDir)).toThrow('another gateway is running');
    const other = lockDataDirectory(temporaryDirectory());
    release();
    release();
    lockDataDirectory(dataDir)();
    other();
  });
});

describe('the admin token', () => {
  test('is generated once, for the gateway’s user only, and then kept', async () => {
    const dataDir = join(temporaryDirectory(), 'new');
    const token = await loadAdminToken(dataDir);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(readFileSync(join(dataDir, 'admin.token'), 'utf8')).toBe(`${token}\n`);
    expect(statSync(join(dataDir, 'admin.token')).mode & 0o777).toBe(0o600);
    expect(await loadAdminToken(dataDir)).toBe(token);
    expect(await loadAdminToken(temporaryDirectory())).not.toBe(token);
  });

  test('may be written by hand', async () => {
    const dataDir = temporaryDirectory();
    writeFileSync(join(dataDir, 'admin.token'), 'sixteen-letters!\n');
    expect(await loadAdminToken(dataDir)).toBe('sixteen-letters!');
  });

  test.each(['', '\0'.repeat(44), 'short', 'sixteen letters!'])(
    'is set aside, reported and regenerated, but not shown, when it is %j',
    async (text) => {
      const dataDir = temporaryDirectory();
      const file = join(dataDir, 'admin.token');
      writeFileSync(file, text, { mode: 0o600 });
      const { log, messages } = recordingLog();
      const token = await loadAdminToken(dataDir, log);
      expect(token).toMatch(/^[\w-]{43}$/);
      expect(readFileSync(file, 'utf8')).toBe(`${token}\n`);
      const aside = readdirSync(dataDir).find((name) => name.startsWith('admin.token.damaged-'));
      expect(readFileSync(join(dataDir, aside ?? ''), 'utf8')).toBe(text);
      const lines = messages.map((line) => JSON.parse(line));
      expect(lines).toMatchObject([{ level: 40, file, movedTo: join(dataDir, aside ?? '') }]);
      if (text !== '') expect(messages.join()).not.toContain(JSON.stringify(text).slice(1, -1));
      expect(await loadAdminToken(dataDir)).toBe(token);
    },
  );

  test('is set aside when unreadable', async () => {
    const dataDir = temporaryDirectory();
    mkdirSync(join(dataDir, 'admin.token'));
    const token = await loadAdminToken(dataDir);
    expect(await loadAdminToken(dataDir)).toBe(token);
  });

  test('is used and reported when other users may read it', async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, 'admin.token');
    writeFileSync(file, 'sixteen-letters!\n');
    chmodSync(file, 0o644);
    const { log, messages } = recordingLog();
    expect(await loadAdminToken(dataDir, log)).toBe('sixteen-letters!');
    expect(messages.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, file, mode: '0644' },
    ]);
    chmodSync(file, 0o600);
    await loadAdminToken(dataDir, log);
    expect(messages).toHaveLength(1);
  });

  test('is valid until the next start when it cannot be written, and is not reported as generated', async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, 'admin.token');
    mkdirSync(`${file}.new`);
    const { log, messages } = recordingLog();
    const { text, isNew } = await loadSecret(file, log);
    expect([text.length, isNew]).toEqual([43, false]);
    expect(messages.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, file }]);
    expect(existsSync(file)).toBe(false);
  });

  test('survives a power cut during its first write', async () => {
    const dataDir = temporaryDirectory();
    writeFileSync(join(dataDir, 'admin.token.new'), 'half', { mode: 0o644 });
    const token = await loadAdminToken(dataDir);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(statSync(join(dataDir, 'admin.token')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(dataDir, 'admin.token.new'))).toBe(false);
  });
});
