import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDataDirectory, lockDataDirectory } from '../../src/store/data-directory.js';
import { loadSecret } from '../../src/store/secret-file.js';
import { temporaryDirectory } from './embedded-support.js';

const loadAdminToken = (dataDir: string) => loadSecret(join(dataDir, 'admin.token'));

describe('the directory', () => {
  test('is created for the gateway’s user only, and left alone when it exists', async () => {
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

  test('is locked for one gateway at a time', () => {
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

  test.each(['', 'short', 'sixteen letters!'])(
    'is refused, and not shown, when it is %j',
    async (text) => {
      const dataDir = temporaryDirectory();
      writeFileSync(join(dataDir, 'admin.token'), text);
      const failure = await loadAdminToken(dataDir).catch((error: unknown) => String(error));
      expect(failure).toContain('admin.token');
      if (text !== '') expect(failure).not.toContain(text);
    },
  );

  test('survives a power cut during its first write', async () => {
    const dataDir = temporaryDirectory();
    writeFileSync(join(dataDir, 'admin.token.new'), 'half', { mode: 0o644 });
    const token = await loadAdminToken(dataDir);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(statSync(join(dataDir, 'admin.token')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(dataDir, 'admin.token.new'))).toBe(false);
  });
});
