/** Sends bare SETs at a rate over one connection, timed as the load times its alarms (`former/load`). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Latencies } from '../../../../test/harness/load/latencies.js';
import { answerOnce } from '../answering.js';

const TICK_MS = 1;
const VALUE = 'x'.repeat(150);
const KEY_DIGITS = 9;
const OK_BYTES = '+OK\r\n'.length;
const MICROSECONDS_PER_MS = 1000;

const questionSchema = z.object({
  socketPath: z.string(),
  perSecond: z.number(),
  warmUpMs: z.number(),
  durationMs: z.number(),
});

answerOnce(questionSchema, async ({ socketPath, perSecond, warmUpMs, durationMs }) => {
  const socket = connect(socketPath);
  await once(socket, 'connect');
  const sets = new Sets(socket);
  await sets.offer(perSecond, warmUpMs);
  const latencies = await sets.offer(perSecond, durationMs);
  return { p50Ms: latencies.quantileMs(0.5), p99Ms: latencies.quantileMs(0.99) };
});

class Sets {
  readonly #socket: Socket;
  #latencies = new Latencies();
  /** When each unanswered SET was sent; answers come in order. */
  readonly #sentMs: number[] = [];
  #sets = 0;
  #bytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#answered(chunk.length));
  }

  /** Resolves when all are answered. */
  async offer(perSecond: number, durationMs: number): Promise<Latencies> {
    this.#latencies = new Latencies();
    const begunMs = performance.now();
    let sent = 0;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const elapsedMs = performance.now() - begunMs;
        const due = Math.floor((perSecond * elapsedMs) / 1000);
        for (; sent < due; sent++) this.#set();
        if (elapsedMs < durationMs) return;
        clearInterval(timer);
        resolve();
      }, TICK_MS);
    });
    while (this.#sentMs.length > 0) await delay(TICK_MS);
    return this.#latencies;
  }

  #set(): void {
    const key = `alarm:${String(this.#sets++).padStart(KEY_DIGITS, '0')}`;
    this.#sentMs.push(performance.now());
    this.#socket.write(
      `*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$${VALUE.length}\r\n${VALUE}\r\n`,
    );
  }

  #answered(bytes: number): void {
    this.#bytes += bytes;
    const nowMs = performance.now();
    for (; this.#bytes >= OK_BYTES; this.#bytes -= OK_BYTES) {
      const sentMs = this.#sentMs.shift() ?? nowMs;
      this.#latencies.add((nowMs - sentMs) * MICROSECONDS_PER_MS);
    }
  }
}
