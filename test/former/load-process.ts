import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import {
  type Answer,
  answerSchema,
  type Call,
  type Offer,
  type Plan,
  type Report,
} from '../harness/load/plan.js';

const messageSchema = z.object({ number: z.number(), answer: answerSchema });

/** A load (`load/`) in its own process. */
export class LoadProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #calls = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message) => {
      const { number, answer } = messageSchema.parse(message);
      this.#waiting.get(number)?.(answer);
      this.#waiting.delete(number);
    });
    child.once('exit', (code) => {
      for (const resolve of this.#waiting.values()) resolve({ failure: `ended with ${code}` });
    });
  }

  static async open(plan: Plan): Promise<LoadProcess> {
    const load = new LoadProcess(fork(program()));
    try {
      await load.#call({ call: 'open', plan });
    } catch (error) {
      await load.kill();
      throw error;
    }
    return load;
  }

  /** Makes an offer. Resolves to the report when the offer ends. */
  offer(offer: Partial<Offer> & Pick<Offer, 'window'>): Promise<Report> {
    const unbounded = { perSecond: null, durationMs: null, maxEach: null };
    const offered = { ...unbounded, underWayTo: 'acknowledgement', ...offer } as const;
    return this.#call({ call: 'offer', offer: offered });
  }

  powerOff(): Promise<Report> {
    return this.#call({ call: 'powerOff' });
  }

  powerOn(): Promise<Report> {
    return this.#call({ call: 'powerOn' });
  }

  report(): Promise<Report> {
    return this.#call({ call: 'report' });
  }

  /** Disconnects the clients cleanly. */
  async end(): Promise<void> {
    await this.#call({ call: 'end' });
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  /** Ends the load as a power cut of all its clients does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #call(call: Call): Promise<Report> {
    const number = this.#calls++;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(number, resolve);
      this.#child.send({ number, call });
    });
    if ('failure' in answer) throw new Error(`the load failed: ${answer.failure}`);
    return answer.report;
  }
}

let compiled: string | undefined;

/** The compiled program; Vitest runs the sources, and Node.js 20 cannot. */
function program(): string {
  const here = fileURLToPath(import.meta.url);
  if (here.endsWith('.js')) return join(dirname(here), '../harness/load/main.js');
  compiled ??= compile(join(dirname(here), '../..'));
  return compiled;
}

function compile(root: string): string {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'test/harness/load')]);
  return join(root, 'dist-test/test/harness/load/main.js');
}
