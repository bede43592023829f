/**
 * A program that a test runs beside itself, and can freeze, kill and start again: the gateway, Redis, Mosquitto,
 * a command-line client.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lines } from './wait.js';

const KILLED_AFTER_MS = 60_000;

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to its standard input, which then ends. */
  readonly input?: string;
}

export class Program {
  /** Its output across all its starts. */
  readonly log = new Lines();
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;

  constructor(options: ProgramOptions = {}) {
    this.#options = options;
  }

  /** Runs a command once. */
  static run(command: string, args: readonly string[], options: ProgramOptions = {}): Program {
    const program = new Program(options);
    program.spawn(command, args);
    return program;
  }

  get processId(): number {
    return this.#child?.pid ?? 0;
  }

  get lines(): readonly string[] {
    return this.log.all;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Starts it, also again. */
  spawn(command: string, args: readonly string[], env = this.#options.env): void {
    const { cwd, input } = this.#options;
    const child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      ...(env !== undefined && { env }),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) if (stream !== null) this.log.read(stream);
    child.stdin?.end(input);
  }

  /**
   * Starts it. Resolves to the line that says it is ready.
   *
   * @throws Error with its output if it ends first
   */
  async ready(
    line: string | RegExp,
    command: string,
    args: readonly string[],
    env = this.#options.env,
  ): Promise<string> {
    const from = this.lines.length;
    this.spawn(command, args, env);
    const ended = this.exit().then((code) => {
      throw new Error(`${command} ended with ${code}:\n${this.lines.slice(from).join('\n')}`);
    });
    // It also rejects after the start, when nothing waits for it.
    ended.catch(() => undefined);
    return Promise.race([this.log.next(line, from), ended]);
  }

  /** Resolves to the first line with the text, past or future. */
  line(text: string | RegExp, from = 0): Promise<string> {
    return this.log.next(text, from);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Stops it as a stalled machine does, until `thaw`: its sockets accept connections and bytes, and nothing answers. */
  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  /** Resolves to its exit status, null after a signal. */
  async exit(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    if (this.isRunning) await once(child, 'exit');
    return child.exitCode;
  }

  /** Ends it as an operator does. Kills it if it does not end. */
  async stop(): Promise<number | null> {
    if (!this.isRunning) return this.exit();
    const timer = setTimeout(() => this.signal('SIGKILL'), KILLED_AFTER_MS);
    this.signal('SIGTERM');
    const code = await this.exit();
    clearTimeout(timer);
    return code;
  }

  /** Ends it as a power cut does. */
  async kill(): Promise<void> {
    if (this.isRunning) this.signal('SIGKILL');
    await this.exit();
  }
}

/** Below the ports that Linux gives to clients: a client that reconnects to one of those can connect to itself. */
const [FIRST_PORT, PORTS] = [11_000, 20_000];
const CLAIMS = join(tmpdir(), 'care-home-gateway-test-ports');
let nextPort = FIRST_PORT + ((process.pid * 131) % PORTS);

/**
 * A port that stays this process' own across restarts of its server.
 *
 * The claim is a directory, made atomically: two runs of the tests on one machine never choose the same.
 */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = FIRST_PORT + ((nextPort + 1 - FIRST_PORT) % PORTS);
    if (claim(port) && (await isFree(port))) return port;
  }
}

function claim(port: number): boolean {
  const directory = join(CLAIMS, String(port));
  const own = join(CLAIMS, `${process.pid}-${port}`);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'pid'), String(process.pid));
  // Renaming is atomic, and fails for a directory that is not empty: of many who find a claim of nobody, one has it.
  const isClaimed = move(own, directory) || (takeFromDead(directory) && move(own, directory));
  rmSync(own, { recursive: true, force: true });
  return isClaimed;
}

/** Removes the claim of a process that has ended. Returns whether this process has removed it. */
function takeFromDead(directory: string): boolean {
  if (isAlive(ownerOf(directory))) return false;
  const stale = `${directory}-of-the-dead-${process.pid}`;
  if (!move(directory, stale)) return false;
  // Somebody else may have removed the dead one's, and claimed the port, since this process has looked.
  const isStale = !isAlive(ownerOf(stale));
  if (!isStale) move(stale, directory);
  rmSync(stale, { recursive: true, force: true });
  return isStale;
}

function move(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function ownerOf(directory: string): number {
  try {
    return Number(readFileSync(join(directory, 'pid'), 'utf8'));
  } catch {
    // It is gone at this moment.
    return process.pid;
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const bound = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port);
  const isBound = await bound;
  if (isBound) await new Promise<void>((resolve) => server.close(() => resolve()));
  return isBound;
}

/** The unit of `/proc/<pid>/stat`: `USER_HZ` is 100 on every Linux that Node.js runs on. */
const TICK_MS = 10;
const KIB = 1024;

/** The processor time that a process has used so far, in steps of 10 ms. */
export async function processorMs(processId: number): Promise<number> {
  const stat = await readFile(`/proc/${processId}/stat`, 'utf8');
  // After the name in brackets, which may contain spaces: state, ten numbers, utime, stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** The memory that a process occupies now, or the most that it has occupied. */
export async function residentBytes(
  processId: number,
  field: 'VmRSS' | 'VmHWM' = 'VmRSS',
): Promise<number> {
  const status = await readFile(`/proc/${processId}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * KIB;
}
