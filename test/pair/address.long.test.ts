/**
 * The address of the pair, held by keepalived with the files of config/pair: it is where the gateway serves.
 *
 * Needs root, keepalived and network namespaces; a machine without them skips it.
 */
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, eventually, expect, type Own, test } from '../harness/index.js';
import { Program } from '../harness/program.js';
import { fillIn } from '../harness/redis.js';

const run = promisify(execFile);

const KEEPALIVED = '/usr/sbin/keepalived';
const RECIPE = 'config/pair';
/** The pair's address in the recipe. */
const ADDRESS = '192.168.20.10/24';
/** The addresses of box one and box two. */
const OWN = ['192.168.20.11', '192.168.20.12'] as const;

/** Whether this machine can have boxes. */
function canMakeBoxes(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(KEEPALIVED)) return false;
  const name = `try-${process.pid}`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false;
  return spawnSync('ip', ['netns', 'del', name]).status === 0;
}

/** A box with its own network card and loopback; its programs see nothing else. */
class Box {
  readonly #name: string;
  readonly #directory: string;
  readonly #own: string;
  readonly #other: string;
  readonly #programs: Program[] = [];

  private constructor(at: 0 | 1) {
    this.#name = `pair-${process.pid}-${at + 1}`;
    // keepalived runs scripts only from where only root may write, unlike /tmp.
    this.#directory = `/run/${this.#name}`;
    this.#own = OWN[at];
    this.#other = OWN[1 - at] ?? '';
  }

  /** Two boxes on one cable, with the addresses of the recipe, each with keepalived. */
  static async pair(own: Own): Promise<readonly [Box, Box]> {
    const [one, two] = [new Box(0), new Box(1)] as const;
    for (const box of [one, two]) {
      await run('ip', ['netns', 'add', box.#name]);
      own.onEnd(() => box.#remove());
    }
    const otherEnd = ['peer', 'name', 'eth0', 'netns', two.#name];
    await run('ip', ['-n', one.#name, 'link', 'add', 'eth0', 'type', 'veth', ...otherEnd]);
    for (const box of [one, two]) await box.#prepare();
    await Promise.all([one.#keepalived(), two.#keepalived()]);
    return [one, two];
  }

  /** Starts the built gateway on its usual ports. Resolves once it has logged the line. */
  async gateway(dataDir: string, storeUrl: string, line: string): Promise<Program> {
    const env = { GATEWAY_DATA_DIR: dataDir, GATEWAY_REDIS_URL: storeUrl };
    const program = this.#run([process.execPath, 'dist/main.js'], env);
    await program.line(line);
    return program;
  }

  async hasAddress(): Promise<boolean> {
    const { stdout } = await run('ip', ['-n', this.#name, '-brief', 'address', 'show', 'eth0']);
    return stdout.includes(ADDRESS);
  }

  /** Resolves once the box has the pair's address and the other one does not. */
  async untilAlone(other: Box): Promise<void> {
    const both = async () => [await this.hasAddress(), await other.hasAddress()];
    await eventually(async () => expect(await both()).toEqual([true, false]));
  }

  /** With the files of the recipe themselves. */
  async #keepalived(): Promise<void> {
    const script = join(this.#directory, 'gateway-serves.sh');
    await copyFile(join(RECIPE, 'gateway-serves.sh'), script);
    const file = join(this.#directory, 'keepalived.conf');
    const filledIn = fillIn(await readFile(join(RECIPE, 'keepalived.conf'), 'utf8'), [
      [/\/usr\/local\/lib\/care-home-gateway\/gateway-serves\.sh/, script],
      [/(?<=unicast_src_ip ).*$/m, this.#own],
      [/(?<=unicast_peer \{\n\s+).*$/m, this.#other],
    ]);
    await writeFile(file, filledIn, { mode: 0o644 });
    const places = ['pid', 'vrrp_pid', 'checkers_pid'].flatMap((name) => [
      `--${name}`,
      join(this.#directory, name),
    ]);
    this.#run([KEEPALIVED, '--dont-fork', '--log-console', '--use-file', file, ...places], {});
  }

  async #prepare(): Promise<void> {
    const inside = ['-n', this.#name];
    await mkdir(this.#directory, { mode: 0o755 });
    await run('ip', [...inside, 'link', 'set', 'lo', 'up']);
    await run('ip', [...inside, 'address', 'add', `${this.#own}/24`, 'dev', 'eth0']);
    await run('ip', [...inside, 'link', 'set', 'eth0', 'up']);
  }

  #run(command: readonly string[], env: Record<string, string>): Program {
    const program = Program.run('ip', ['netns', 'exec', this.#name, ...command], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
    });
    this.#programs.push(program);
    return program;
  }

  async #remove(): Promise<void> {
    for (const program of this.#programs.toReversed()) await program.stop();
    await run('ip', ['netns', 'del', this.#name]);
    await rm(this.#directory, { recursive: true, force: true });
  }
}

const READY = '"msg":"gateway ready"';
const STANDING_BY = '"msg":"gateway standing by"';

describe.skipIf(!canMakeBoxes())('the address of the pair', { timeout: 120_000 }, () => {
  test('is where the gateway serves, and follows when that gateway is killed or stopped', async ({
    own,
  }) => {
    const { url } = await own.redis();
    const [one, two] = await Box.pair(own);
    const first = await one.gateway(own.directory(), url, READY);
    await one.untilAlone(two);
    const second = await two.gateway(own.directory(), url, STANDING_BY);
    await first.kill();
    await two.untilAlone(one);
    await one.gateway(own.directory(), url, STANDING_BY);
    expect(await two.hasAddress()).toBe(true);
    await second.stop();
    await one.untilAlone(two);
  });

  test('leaves a box that is cut off from the store for one that is ready', async ({ own }) => {
    const [one, two] = await Box.pair(own);
    // Both serve, as when the boxes are cut off from each other.
    const [cutOff, reached] = [await own.redis(), await own.redis()];
    await one.gateway(own.directory(), cutOff.url, READY);
    await one.untilAlone(two);
    await two.gateway(own.directory(), reached.url, READY);
    cutOff.freeze();
    await two.untilAlone(one);
    cutOff.thaw();
  });
});
