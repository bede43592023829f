import { z } from 'zod';
import type { Cleanups } from './cleanups.js';
import type { Broker } from './contestants/contestant.js';
import { Program } from './program.js';

const resultSchema = z.object({
  durationMs: z.number(),
  attempts: z.number(),
  missing: z.number(),
});
type ConnectResult = z.infer<typeof resultSchema>;

export interface Connecting {
  /** How many attempts may be under way at a time; null: all. */
  readonly atATime: number | null;
  /** The time after which a device gives up an attempt and makes another; null: never. */
  readonly timeoutMs: number | null;
  readonly boundMs: number;
}

/** All devices of a broker, connected by their own process. */
export class Connections {
  readonly result: ConnectResult;
  readonly #program: Program;

  private constructor(program: Program, result: ConnectResult) {
    this.#program = program;
    this.result = result;
  }

  /** Resolves when every device has its CONNACK, or the bound is reached. */
  static async open(broker: Broker, how: Connecting, cleanups: Cleanups): Promise<Connections> {
    const program = Program.start('programs/connect-load.js', cleanups);
    const question = { port: broker.port, logins: broker.devices, ...how };
    return new Connections(program, await program.ask(question, resultSchema));
  }

  /** Ends all connections as a power cut does. */
  close(): Promise<void> {
    return this.#program.kill();
  }
}
