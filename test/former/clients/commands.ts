import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { RunningGateway } from '../gateway/running-gateway.js';
import type { TestDevice, TestToken } from './api.js';

const END_TIMEOUT_MS = 2_000;

/** A running command-line client: collects its lines and waits for them. */
export class CommandLine {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #waiting: (() => void)[] = [];

  constructor(program: string, args: readonly string[], input?: string) {
    const stdin = input === undefined ? 'ignore' : 'pipe';
    this.#child = spawn(program, args, { stdio: [stdin, 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      const lines = createInterface({ input: stream }).on('line', (line) => this.#add(line));
      // The pipe of a killed process may be reset, even after the test that killed it.
      lines.on('error', () => undefined);
    }
    this.#child.stdin?.end(input);
  }

  /** Resolves to the first line that contains the text. */
  async line(text: string, timeoutMs = 120_000): Promise<string> {
    await this.until((lines) => lines.some((line) => line.includes(text)), timeoutMs);
    return this.lines.find((line) => line.includes(text)) ?? '';
  }

  until(condition: (lines: readonly string[]) => boolean, timeoutMs = 120_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${condition} never held of:\n${this.lines.join('\n')}`));
      }, timeoutMs);
      const check = () => {
        if (!condition(this.lines)) return;
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }

  /** Resolves to the exit status. */
  async exit(timeoutMs = 120_000): Promise<number | null> {
    const timer = setTimeout(() => {
      this.#add(`killed, as it had not ended after ${timeoutMs} ms`);
      this.#child.kill('SIGKILL');
    }, timeoutMs);
    await this.#ended;
    clearTimeout(timer);
    if (this.#child.exitCode === null) throw new Error(this.lines.join('\n'));
    return this.#child.exitCode;
  }

  /** Ends the program; kills it if its signal handler hangs, as Mosquitto's may. */
  async end(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #add(line: string): void {
    this.lines.push(line);
    for (const check of [...this.#waiting]) check();
  }
}

/** `mosquitto_pub` as a device. */
export function mosquittoPub(
  gateway: RunningGateway,
  device: TestDevice,
  topic: string,
  payload: string,
  ...options: readonly string[]
): CommandLine {
  return new CommandLine('mosquitto_pub', [
    '-p',
    String(gateway.mqttPort),
    '-u',
    device.id,
    '-P',
    device.secret,
    '-t',
    `devices/${device.id}/${topic}`,
    '-m',
    payload,
    ...options,
  ]);
}

/** `mosquitto_sub` as a nurse-call system; resolves once it has its SUBACK. */
export async function mosquittoSub(
  gateway: RunningGateway,
  token: TestToken,
  filter: string,
  ...options: readonly string[]
): Promise<CommandLine> {
  // Otherwise it buffers several thousand bytes when it writes to a pipe.
  const subscriber = new CommandLine('stdbuf', [
    '-oL',
    'mosquitto_sub',
    '-p',
    String(gateway.mqttPort),
    '-u',
    token.id,
    '-P',
    token.token,
    '-q',
    '1',
    '-d',
    '-F',
    '%t %q %r %p',
    '-t',
    filter,
    ...options,
  ]);
  await subscriber.line('Subscribed');
  return subscriber;
}
