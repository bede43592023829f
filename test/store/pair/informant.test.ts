import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Informant } from '../../../src/store/pair/informant.js';
import { eventually } from '../../former/eventually.js';
import { CutProxy } from '../../former/servers/cut-proxy.js';
import { RedisPair } from '../../former/servers/redis-pair.js';

let pair: RedisPair;

beforeAll(async () => {
  pair = await RedisPair.start();
});

afterAll(async () => pair.remove());

/** A Sentinel behind a line that can be cut, and a function that asks it. */
async function sentinelBehindLine(): Promise<{ line: CutProxy; ask: () => Promise<unknown[]> }> {
  const [sentinel] = pair.sentinelPrograms;
  const line = await CutProxy.start({ port: sentinel?.port ?? 0 });
  onTestFinished(() => line.close());
  const address = { host: '127.0.0.1', port: line.port };
  const informant = new Informant(address, { password: pair.sentinelPassword });
  onTestFinished(() => informant.stop());
  return { line, ask: () => informant.ask(['PING']) };
}

test('asks a Sentinel again after connections broke during their first commands', async () => {
  const { line, ask } = await sentinelBehindLine();
  line.resetAtFirstBytes();
  const broken = async () => {
    await expect(ask()).rejects.toThrow(`127.0.0.1:${line.port}: `);
    expect(line.attempts).toBeGreaterThan(1);
  };
  await eventually(broken);

  line.pass();

  await eventually(async () => expect(await ask()).toEqual(['PONG']));
});

test('asks a Sentinel over another connection after the first has gone silent', async () => {
  const { line, ask } = await sentinelBehindLine();
  await eventually(async () => expect(await ask()).toEqual(['PONG']));
  line.swallow();
  await expect(ask()).rejects.toThrow('timed out');

  line.pass();

  await eventually(async () => expect(await ask()).toEqual(['PONG']));
});

test('keeps one connection while a Sentinel answers', async () => {
  const { line, ask } = await sentinelBehindLine();
  for (let asked = 0; asked < 5; asked++) expect(await ask()).toEqual(['PONG']);
  expect(line.attempts).toBe(1);
});
