import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Cleanups } from './cleanups.js';

const answerSchema = z.union([
  z.object({ failure: z.string() }),
  z.object({ result: z.unknown() }),
]);

/** A program from `programs/` or `contestants/` in its own process: one question, one answer. */
export class Program {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** @param file the compiled file's path, relative to this folder */
  static start(file: string, cleanups: Cleanups): Program {
    const program = new Program(fork(fileURLToPath(new URL(file, import.meta.url))));
    cleanups.onEnd(() => program.kill());
    return program;
  }

  get processId(): number {
    return this.#child.pid ?? 0;
  }

  /** Tells the program what to do; it keeps running after its answer. */
  async ask<T>(question: Serializable, schema: z.ZodType<T>): Promise<T> {
    const message = await new Promise<unknown>((resolve, reject) => {
      const exited = (code: number | null) => {
        reject(new Error(`a program of the bench ended with ${code}`));
      };
      this.#child.once('exit', exited);
      this.#child.once('message', (answer) => {
        this.#child.off('exit', exited);
        resolve(answer);
      });
      this.#child.send(question);
    });
    const answer = answerSchema.parse(message);
    if ('failure' in answer) throw new Error(answer.failure);
    return schema.parse(answer.result);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
