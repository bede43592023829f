import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';

/** The demo as a process without a terminal, with its own temporary files. */
export class DemoRun {
  readonly directory = mkdtempSync(join(tmpdir(), 'demo-test-'));
  readonly ended: Promise<number | null>;
  output = '';
  errors = '';
  readonly #child: ChildProcess;

  constructor(
    { onTestFinished }: TestContext,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const child = spawn(process.execPath, ['scripts/demo/main.mjs', ...args], {
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: this.directory, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.errors += chunk.toString();
    });
    this.ended = new Promise((resolve) => child.once('close', (status) => resolve(status)));
    onTestFinished(async () => {
      child.kill('SIGINT');
      await this.ended;
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  /** Resolves as soon as the demo has printed the text. */
  async printed(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      await new Promise<void>((resolve, reject) => {
        this.#child.stdout?.once('data', () => resolve());
        void this.ended.then(() => reject(new Error(`not printed: ${text}\n${this.output}`)));
      });
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  /** Counts the lines of the table with this event. */
  count(event: string): number {
    return this.output.split('\n').filter((line) => /^\d\d:/.test(line) && line.includes(event))
      .length;
  }

  /** The remaining directories of the demo. */
  get leftDirectories(): string[] {
    return readdirSync(this.directory);
  }

  /** Process id and command of every process in the demo's directory. */
  get processes(): { readonly pid: number; readonly command: string }[] {
    return execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(this.directory))
      .map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
  }
}
