import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, embeddedRedis, temporaryDirectory } from '../embedded-support.js';

/** A data directory with writes in the base and the increment, and the contents of its files. */
async function writtenDirectory() {
  const dataDir = temporaryDirectory();
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  await ask(embedded.socketPath, async (redis) => {
    await redis.set('in the base', 'kept');
    await redis.bgrewriteaof();
    const isUnderWay = async () => /in_progress:1/.test(await redis.info('persistence'));
    await expect.poll(isUnderWay).toBe(false);
    await redis.set('in the increment', 'kept');
  });
  await embedded.stop();
  const directory = join(dataDir, 'redis');
  return { dataDir, directory, files: join(directory, 'appendonlydir') };
}

function contentsOf(files: string): Map<string, string> {
  return new Map(
    readdirSync(files).map((name) => [name, readFileSync(join(files, name), 'latin1')]),
  );
}

function remove(files: string, pattern: RegExp): string {
  const name = readdirSync(files).find((one) => pattern.test(one)) ?? '';
  rmSync(join(files, name));
  return join(files, name);
}

test.each([
  ['base', /base/],
  ['increment', /incr\.aof$/],
])(
  'does not start without the %s, says which it is, and leaves all files unchanged',
  async (...one) => {
    const { dataDir, files } = await writtenDirectory();
    remove(files, one[1]);
    const left = contentsOf(files);
    await expect(embeddedRedis(dataDir).embedded.start()).rejects.toMatchObject({
      code: 'start-failed',
      detail: expect.stringMatching(/^the embedded store ended while starting: .*\.aof/),
    });
    expect(contentsOf(files)).toEqual(left);
  },
);

test('starts empty without the manifest, keeps the files, and says where', async () => {
  const { dataDir, directory, files } = await writtenDirectory();
  remove(files, /manifest$/);
  const left = contentsOf(files);
  const { embedded, messages } = embeddedRedis(dataDir);
  await embedded.start();
  expect(await ask(embedded.socketPath, (redis) => redis.dbsize())).toBe(0);
  const [aside = ''] = readdirSync(directory).filter((name) => name.includes('without-manifest'));
  expect(contentsOf(join(directory, aside))).toEqual(left);
  expect(messages.join()).toContain(`"movedTo":"${join(directory, aside)}"`);
});
