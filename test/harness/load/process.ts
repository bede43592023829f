import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { CalledProgram, compile } from './calls.js';
import { type Offer, type Plan, type Report, reportSchema } from './plan.js';

/** A load in its own process. */
export class LoadProcess {
  readonly #program: CalledProgram;

  private constructor(program: CalledProgram) {
    this.#program = program;
  }

  /** @param niceness as for `nice` */
  static async open(plan: Plan, niceness?: number): Promise<LoadProcess> {
    const load = new LoadProcess(new CalledProgram(program(), niceness));
    try {
      await load.#tell('open', plan);
    } catch (error) {
      await load.kill();
      throw error;
    }
    return load;
  }

  /** Makes an offer. Resolves to the report when the offer ends. */
  async offer(offer: Partial<Offer> & Pick<Offer, 'window'>): Promise<Report> {
    const unbounded = { perSecond: null, durationMs: null, maxEach: null };
    await this.#tell('offer', { ...unbounded, underWayTo: 'acknowledgement', ...offer });
    return this.report();
  }

  powerOff(): Promise<unknown> {
    return this.#tell('powerOff');
  }

  /** Resolves when the last device has been admitted again. */
  powerOn(): Promise<unknown> {
    return this.#tell('powerOn');
  }

  report(): Promise<Report> {
    return this.#program.call('report', reportSchema);
  }

  /** Disconnects the clients cleanly. */
  async end(): Promise<void> {
    await this.#tell('end');
    await this.kill();
  }

  /** Ends the load as a power cut of all its clients does. */
  kill(): Promise<void> {
    return this.#program.kill();
  }

  #tell(name: string, value?: unknown): Promise<unknown> {
    return this.#program.call(name, z.unknown(), value);
  }
}

let isCompiled = false;

function program(): string {
  const here = fileURLToPath(import.meta.url);
  if (here.endsWith('.js')) return join(dirname(here), 'main.js');
  if (!isCompiled) compile('test/harness/load');
  isCompiled = true;
  return 'dist-test/test/harness/load/main.js';
}
