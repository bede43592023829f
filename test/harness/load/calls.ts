/** Calls from a test or a tool to a program of its own, and their answers: one number, one call, one answer. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { z } from 'zod';

const answerSchema = z.object({
  number: z.number(),
  result: z.unknown().optional(),
  failure: z.string().optional(),
});
type Answer = z.infer<typeof answerSchema>;
const callSchema = z.object({ number: z.number(), name: z.string(), value: z.unknown() });

/** A program in its own process, so that it shares its event loop with neither the gateway nor its owner. */
export class CalledProgram {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #calls = 0;

  /**
   * @param file compiled JavaScript: Vitest runs the sources, and Node.js 20 cannot
   * @param niceness as for `nice`
   * @param under a command to run it under: `unshare --net --`
   */
  constructor(file: string, niceness = 0, under: readonly string[] = []) {
    const [command = '', ...args] = [...under, process.execPath, file];
    this.#child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    try {
      setPriority(this.processId, niceness);
    } catch {
      // Only root may raise a priority; without it, the figures are a little worse.
    }
    this.#child.on('message', (message) => {
      const answer = answerSchema.parse(message);
      this.#waiting.get(answer.number)?.(answer);
      this.#waiting.delete(answer.number);
    });
    this.#child.once('exit', (code, signal) => {
      const failure = `${file} ended with ${code ?? signal}`;
      for (const [number, answered] of this.#waiting) answered({ number, failure });
    });
  }

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  async call<T>(name: string, schema: z.ZodType<T>, value: unknown = null): Promise<T> {
    const number = this.#calls++;
    const { failure, result } = await new Promise<Answer>((resolve) => {
      this.#waiting.set(number, resolve);
      this.#child.send({ number, name, value }, (error) => {
        if (error !== null) resolve({ number, failure: error.message });
      });
    });
    if (failure !== undefined) throw new Error(`${name} failed: ${failure}`);
    return schema.parse(result);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** The other side of `call`; the process ends with its owner. */
export function answerCalls(work: Readonly<Record<string, (value: unknown) => unknown>>): void {
  process.on('message', async (message) => {
    const { number, name, value } = callSchema.parse(message);
    try {
      // JSON has no undefined.
      const result = (await work[name]?.(value)) ?? null;
      process.send?.({ number, result });
    } catch (error) {
      process.send?.({ number, failure: String(error) });
    }
  });
  process.on('disconnect', () => process.exit(0));
}

/** Compiles the programs of a folder with a `tsconfig.json`, into `dist-test/`. */
export function compile(folder: string): void {
  const compiler = 'node_modules/typescript/bin/tsc';
  execFileSync(process.execPath, [compiler, '-p', folder], { stdio: 'inherit' });
}
