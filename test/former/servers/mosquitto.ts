import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Lines } from '../lines.js';
import { Authority } from './certificates.js';
import { unusedPort } from './unused-port.js';

const run = promisify(execFile);

export interface MosquittoOptions {
  /** Names and passwords; absent: anyone may connect. */
  readonly users?: Readonly<Record<string, string>>;
  /** Lines of its ACL file; absent: everything is permitted. */
  readonly acl?: readonly string[];
  readonly tls?: {
    /** The name in its certificate: `DNS:localhost`, `IP:127.0.0.1`. */
    readonly name: string;
    readonly requiresClientCertificate?: boolean;
  };
  /** Further settings of mosquitto.conf: `message_size_limit`, `memory_limit`, … */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Default settings, without limits.
 *
 * Messages go to the socket of a connected subscriber before the publisher's PUBACK, so a kill loses
 * nothing that Mosquitto acknowledged.
 */
const SETTINGS = {
  // Otherwise Mosquitto switches from root to a user who cannot read the test's files.
  user: 'root',
  log_dest: 'stderr',
  connection_messages: true,
  persistence: true,
  // Saves only on `save` and when it ends.
  autosave_interval: 0,
  max_inflight_messages: 0,
  // Not 0 (unlimited): with 0, Mosquitto 2.0 ends a connection after any refused PUBLISH.
  max_queued_messages: 1_000_000,
  max_queued_bytes: 0,
  set_tcp_nodelay: true,
};
const LOG_TYPES = ['error', 'warning', 'notice', 'information'];

/** A real Mosquitto as a bridge's upstream, with its own directory and always the same port. */
export class Mosquitto {
  readonly port: number;
  readonly directory: string;
  readonly #authority: Authority | undefined;
  readonly #log = new Lines();
  #options: MosquittoOptions;
  #child: ChildProcess | undefined;

  private constructor(
    port: number,
    directory: string,
    authority: Authority | undefined,
    options: MosquittoOptions,
  ) {
    this.port = port;
    this.directory = directory;
    this.#authority = authority;
    this.#options = options;
  }

  static async start(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const mosquitto = await Mosquitto.create(options);
    try {
      await mosquitto.start();
    } catch (error) {
      await mosquitto.remove();
      throw error;
    }
    return mosquitto;
  }

  /** Creates a Mosquitto that is not started: nothing listens on its port. */
  static async create(options: MosquittoOptions = {}): Promise<Mosquitto> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-mosquitto-'));
    const authority = options.tls && (await Authority.create(directory));
    return new Mosquitto(await unusedPort(), directory, authority, options);
  }

  /** The authority of its certificate. */
  get authority(): Authority {
    if (this.#authority === undefined) throw new Error('this Mosquitto was created without TLS');
    return this.#authority;
  }

  get url(): string {
    return this.urlAt('127.0.0.1', this.port);
  }

  /** Its URL by another name or through a proxy. */
  urlAt(host: string, port: number): string {
    return `mqtt${this.#options.tls ? 's' : ''}://${host}:${port}`;
  }

  get lines(): readonly string[] {
    return this.#log.all;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get processId(): number {
    return this.#child?.pid ?? 0;
  }

  /** Resolves when it listens; after `stop` or `kill`, on the same port with what it had saved. */
  async start(): Promise<void> {
    const configFile = await this.#configure();
    const child = spawn('mosquitto', ['-c', configFile], {
      // Debian keeps the program in /usr/sbin, which is not on an ordinary user's PATH.
      env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    const running = this.#log.next(/mosquitto version \S+ running/);
    this.#log.read(child.stderr);
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`mosquitto ended with ${code}:\n${this.lines.slice(-20).join('\n')}`);
    });
    await Promise.race([running, ended]);
  }

  /** Changes its options for the next start. */
  change(options: MosquittoOptions): void {
    this.#options = { ...this.#options, ...options };
  }

  /** Changes who may connect; closes connections that are no longer permitted. */
  async setUsers(users: Readonly<Record<string, string>>): Promise<void> {
    this.change({ users });
    await this.#configure();
    const reloading = this.#log.next('Reloading config');
    this.#child?.kill('SIGHUP');
    await reloading;
  }

  /** Saves its memory: it has this state again after a kill. */
  async save(): Promise<void> {
    const saving = this.#log.next('Saving in-memory database');
    this.#child?.kill('SIGUSR1');
    await saving;
  }

  /** Freezes the process until `thaw`: the kernel accepts connections and bytes, but nothing answers. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends Mosquitto as an operator does. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Ends Mosquitto as a power cut does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async remove(): Promise<void> {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Writes its files, always under the same paths. */
  async #configure(): Promise<string> {
    const { users, acl, tls, settings } = this.#options;
    const file = (name: string) => join(this.directory, name);
    const lines = [
      `listener ${this.port} 127.0.0.1`,
      `allow_anonymous ${users === undefined}`,
      `persistence_location ${this.directory}/`,
      ...LOG_TYPES.map((type) => `log_type ${type}`),
    ];
    if (users !== undefined) {
      await writePasswords(file('passwords'), users);
      lines.push(`password_file ${file('passwords')}`);
    }
    if (acl !== undefined) {
      await writeFile(file('acl'), `${acl.join('\n')}\n`, { mode: 0o600 });
      lines.push(`acl_file ${file('acl')}`);
    }
    if (tls !== undefined) {
      const { certFile, keyFile } = await this.authority.server(tls.name);
      lines.push(`cafile ${this.authority.certFile}`, `certfile ${certFile}`, `keyfile ${keyFile}`);
      lines.push(`require_certificate ${tls.requiresClientCertificate === true}`);
    }
    for (const [name, value] of Object.entries({ ...SETTINGS, ...settings })) {
      lines.push(`${name} ${value}`);
    }
    await writeFile(file('mosquitto.conf'), `${lines.join('\n')}\n`);
    return file('mosquitto.conf');
  }
}

async function writePasswords(
  file: string,
  users: Readonly<Record<string, string>>,
): Promise<void> {
  await writeFile(file, '', { mode: 0o600 });
  for (const [name, password] of Object.entries(users)) {
    await run('mosquitto_passwd', ['-b', file, name, password]);
  }
}
