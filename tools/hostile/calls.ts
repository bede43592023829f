import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { z } from 'zod';

const answerSchema = z.object({
  number: z.number(),
  answer: z.union([z.object({ result: z.unknown() }), z.object({ failure: z.string() })]),
});
const questionSchema = z.object({ number: z.number(), call: z.unknown() });

export interface ProgramOptions {
  /** A command to run the program under: `unshare --net --`. */
  readonly under?: readonly string[];
  /** As for `nice`. */
  readonly niceness: number;
}

/** A program in its own process that answers calls. */
export class Program {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: z.infer<typeof answerSchema>['answer']) => void>();
  #calls = 0;

  constructor(file: string, { under = [], niceness }: ProgramOptions) {
    const [command, ...args] = under;
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    this.#child =
      command === undefined
        ? fork(file)
        : spawn(command, [...args, process.execPath, file], { stdio: [...stdio] });
    try {
      setPriority(this.processId, niceness);
    } catch {
      // Only root may raise a priority; without it, the figures are a little worse.
    }
    this.#child.on('message', (message) => {
      const { number, answer } = answerSchema.parse(message);
      this.#waiting.get(number)?.(answer);
      this.#waiting.delete(number);
    });
    this.#child.once('exit', (code, signal) => {
      const failure = `${file} ended with ${code ?? signal}`;
      for (const resolve of this.#waiting.values()) resolve({ failure });
    });
  }

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async call<T>(call: object, schema: z.ZodType<T>): Promise<T> {
    const number = this.#calls++;
    const answer = await new Promise<z.infer<typeof answerSchema>['answer']>((resolve) => {
      this.#waiting.set(number, resolve);
      this.#child.send({ number, call }, (error) => {
        if (error !== null) resolve({ failure: error.message });
      });
    });
    if ('failure' in answer) throw new Error(answer.failure);
    return schema.parse(answer.result);
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** The other side of `Program.call`; the process ends with its owner. */
export function answerCalls<T>(schema: z.ZodType<T>, work: (call: T) => Promise<unknown>): void {
  process.on('message', (message) => {
    const { number, call } = questionSchema.parse(message);
    work(schema.parse(call)).then(
      // JSON has no undefined.
      (result) => process.send?.({ number, answer: { result: result ?? null } }),
      (error: unknown) => process.send?.({ number, answer: { failure: String(error) } }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
