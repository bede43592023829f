import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fillIn } from '../former/fill-in.js';
import { Lines } from '../former/lines.js';
import { until } from '../former/until.js';

const run = promisify(execFile);

const KEEPALIVED = '/usr/sbin/keepalived';
const RECIPE = 'config/pair';
/** The pair's address in the recipe. */
const ADDRESS = '192.168.20.10/24';
/** The addresses of box one and box two. */
const OWN = ['192.168.20.11', '192.168.20.12'] as const;

/** Whether this machine can have boxes, which need root, keepalived and network namespaces. */
export function canMakeBoxes(): boolean {
  if (process.getuid?.() !== 0 || !existsSync(KEEPALIVED)) return false;
  const name = `try-${process.pid}`;
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false;
  return spawnSync('ip', ['netns', 'del', name]).status === 0;
}

/** A program in a box. */
export class BoxProgram {
  readonly lines = new Lines();
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) this.lines.read(stream);
    }
  }

  /** Ends the program; resolves once it has ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

/** A box with its own network card and loopback; its programs see nothing else. */
export class NetworkBox {
  readonly #name: string;
  readonly #directory: string;
  readonly #own: string;
  readonly #other: string;
  readonly #programs: BoxProgram[] = [];

  private constructor(at: 0 | 1) {
    this.#name = `pair-${process.pid}-${at + 1}`;
    // keepalived runs scripts only from where only root may write, unlike /tmp.
    this.#directory = `/run/${this.#name}`;
    this.#own = OWN[at];
    this.#other = OWN[1 - at] ?? '';
  }

  /** Two boxes on one cable, with the addresses of the recipe. */
  static async pair(): Promise<readonly [NetworkBox, NetworkBox]> {
    const [one, two] = [new NetworkBox(0), new NetworkBox(1)] as const;
    for (const { name } of [one, two]) await run('ip', ['netns', 'add', name]);
    const otherEnd = ['peer', 'name', 'eth0', 'netns', two.name];
    const card = ['link', 'add', 'eth0', 'type', 'veth', ...otherEnd];
    await run('ip', ['-n', one.name, ...card]);
    for (const box of [one, two]) await box.#prepare();
    return [one, two];
  }

  /** The name of its network namespace. */
  get name(): string {
    return this.#name;
  }

  /** Starts the built gateway. Its plaintext listeners have their usual ports. */
  gateway(dataDir: string, storeSocket: string): BoxProgram {
    return this.#start([process.execPath, 'dist/main.js'], {
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_REDIS_URL: `unix://${storeSocket}`,
    });
  }

  /** Starts keepalived with the file of the recipe itself. */
  async keepalived(): Promise<BoxProgram> {
    const script = join(this.#directory, 'gateway-serves.sh');
    await copyFile(join(RECIPE, 'gateway-serves.sh'), script);
    const file = join(this.#directory, 'keepalived.conf');
    const text = await readFile(join(RECIPE, 'keepalived.conf'), 'utf8');
    const filledIn = fillIn(text, [
      [/\/usr\/local\/lib\/care-home-gateway\/gateway-serves\.sh/, script],
      [/(?<=unicast_src_ip ).*$/m, this.#own],
      [/(?<=unicast_peer \{\n\s+).*$/m, this.#other],
    ]);
    await writeFile(file, filledIn, { mode: 0o644 });
    const places = [
      '--pid',
      join(this.#directory, 'pid'),
      '--vrrp_pid',
      join(this.#directory, 'vrrp-pid'),
      '--checkers_pid',
      join(this.#directory, 'checkers-pid'),
    ];
    const inForeground = ['--dont-fork', '--log-console'];
    return this.#start([KEEPALIVED, ...inForeground, '--use-file', file, ...places], {});
  }

  /** Whether the box has the pair's address now. */
  async hasAddress(): Promise<boolean> {
    const { stdout } = await run('ip', ['-n', this.#name, '-brief', 'address', 'show', 'eth0']);
    return stdout.includes(ADDRESS);
  }

  /** Resolves once the box has the pair's address and the other one does not. */
  async untilAlone(other: NetworkBox): Promise<void> {
    const isAlone = async () => (await this.hasAddress()) && !(await other.hasAddress());
    await until(isAlone, `${this.#name} does not have the address`);
  }

  async remove(): Promise<void> {
    for (const program of this.#programs.toReversed()) await program.end();
    await run('ip', ['netns', 'del', this.#name]);
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #prepare(): Promise<void> {
    const inside = ['-n', this.#name];
    await mkdir(this.#directory, { mode: 0o755 });
    await run('ip', [...inside, 'link', 'set', 'lo', 'up']);
    await run('ip', [...inside, 'address', 'add', `${this.#own}/24`, 'dev', 'eth0']);
    await run('ip', [...inside, 'link', 'set', 'eth0', 'up']);
  }

  #start(command: readonly string[], env: Record<string, string>): BoxProgram {
    const child = spawn('ip', ['netns', 'exec', this.#name, ...command], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const program = new BoxProgram(child);
    this.#programs.push(program);
    return program;
  }
}
