import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Lines } from '../former/lines.js';
import { unusedPort } from '../former/servers/unused-port.js';

const READY_TIMEOUT_MS = 60_000;
/** Less than a test has, so that the error says what was printed. */
const BLOCK_TIMEOUT_MS = 20_000;
/** The ports that the documents name. */
const HTTP_PORT = 8080;

/**
 * A checkout in which the commands of the documents run as written.
 *
 * The gateway has its own ports; the clients get them from their configuration files, so no command
 * has to change.
 */
export class Checkout {
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  #gateway: ChildProcess | undefined;

  private constructor(directory: string, environment: NodeJS.ProcessEnv) {
    this.directory = directory;
    this.environment = environment;
  }

  static async make(): Promise<Checkout> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-docs-'));
    for (const name of await readdir('.')) {
      if (name !== 'data') await symlink(resolve(name), join(directory, name));
    }
    const [mqttPort, httpPort] = [await unusedPort(), await unusedPort()];
    await writeFile(join(directory, 'mosquitto_sub'), `-p ${mqttPort}\n`);
    await writeFile(join(directory, 'mosquitto_pub'), `-p ${mqttPort}\n`);
    const connectTo = `connect-to = "localhost:${HTTP_PORT}:127.0.0.1:${httpPort}"\n`;
    await writeFile(join(directory, '.curlrc'), connectTo);
    return new Checkout(directory, {
      PATH: process.env['PATH'],
      HOME: directory,
      CURL_HOME: directory,
      XDG_CONFIG_HOME: directory,
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTP_PORT: String(httpPort),
      // It is already installed and built; a build would take `dist` away from the other tests.
      npm_config_ignore_scripts: 'true',
    });
  }

  /** Runs a command that starts the gateway, until it is ready. */
  async start(command: string): Promise<void> {
    const child = spawn('bash', ['-c', command], {
      cwd: this.directory,
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, as in its own terminal.
      detached: true,
    });
    this.#gateway = child;
    const lines = new Lines();
    lines.read(child.stdout);
    lines.read(child.stderr);
    await lines.next('"msg":"gateway ready"', 0, READY_TIMEOUT_MS);
  }

  /** Presses Ctrl-C in the terminal of the gateway. Returns whether it ended cleanly. */
  async interrupt(): Promise<boolean> {
    const child = this.#gateway;
    if (child?.pid === undefined || child.exitCode !== null) return false;
    // Not `exit`, which is the exit of npm; the gateway shares its output.
    const ended = once(child, 'close');
    process.kill(-child.pid, 'SIGINT');
    await ended;
    return !existsSync(join(this.directory, 'data', 'redis', 'redis.pid'));
  }

  async remove(): Promise<void> {
    await this.interrupt();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** A second terminal: runs blocks of commands in sequence; a block fails at its first failed command. */
export class Shell {
  readonly lines = new Lines();
  readonly #child: ChildProcess;
  readonly #directory: string;
  #blocks = 0;

  constructor({ directory, environment }: Checkout) {
    this.#directory = directory;
    // mosquitto_sub would hold back its lines when it writes to a pipe.
    this.#child = spawn('stdbuf', ['-oL', 'bash', '--norc', '-s'], {
      cwd: directory,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    if (this.#child.stdout !== null) this.lines.read(this.#child.stdout);
    if (this.#child.stderr !== null) this.lines.read(this.#child.stderr);
    this.#child.once('exit', (status) => this.lines.add(`the shell ended with ${status}`));
    // Jobs as in a terminal: `kill %1`.
    this.#child.stdin?.write('set -em -o pipefail\n');
  }

  /** Runs a block as written; returns what was printed meanwhile. */
  async run(block: string): Promise<string> {
    const from = this.lines.all.length;
    const end = `end of block ${++this.#blocks}`;
    const file = join(this.#directory, `.block-${this.#blocks}`);
    await writeFile(file, block);
    // curl ends what it prints without a line break.
    this.#child.stdin?.write(`. ${file} </dev/null\necho; echo '${end}'\n`);
    const last = await this.lines.next(/^(?:end of block|the shell ended)/, from, BLOCK_TIMEOUT_MS);
    const printed = this.lines.all.slice(from).join('\n');
    if (last !== end) throw new Error(`${last}:\n${block}\n${printed}`);
    return printed;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }
}
