/** An attacker in its own process: it opens the connections of an attack again and again, until it is over. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { answerCalls } from '../../test/harness/load/calls.js';
import { Connection, type Endpoint } from '../../test/harness/load/connection.js';
import { type Login, loginSchema } from '../../test/harness/load/plan.js';
import type { Attack, Listener } from './attack.js';
import { ATTACKS } from './attacks/index.js';

const RECOVERY_MS = 50;
/** Connections that may be on their way at a time: all together they would only fill the listen queue. */
const OPENING_AT_A_TIME = 100;
const TICK_MS = 10;
const CLIENT_ERROR = Buffer.from('HTTP/1.1 4');
const SERVER_ERROR = Buffer.from('HTTP/1.1 5');

export const fieldPlanSchema = z.object({
  attack: z.string(),
  seconds: z.number(),
  host: z.string(),
  ports: z.partialRecord(z.enum(['mqtt', 'http', 'mqtts', 'https']), z.number()),
  /** Addresses to connect from. */
  addresses: z.array(z.string()),
  arms: z.object({
    devices: z.array(loginSchema),
    tokens: z.array(loginSchema),
    filter: z.string(),
    texts: z.record(z.string(), z.string()),
  }),
});
export type FieldPlan = z.infer<typeof fieldPlanSchema>;

/** One of an attack's connections, as long as the attack lasts; what `sends` knows. */
export class Line {
  readonly index: number;
  /** How many connections it has had before this one. */
  round = 0;
  readonly #field: Field;

  constructor(field: Field, index: number) {
    this.#field = field;
    this.index = index;
  }

  get arms(): FieldPlan['arms'] {
    return this.#field.plan.arms;
  }

  /** The id of the attacker's device with this number. */
  deviceId(number = 0): string {
    return this.arms.devices[number]?.username ?? '';
  }

  get isOver(): boolean {
    return this.#field.isOver;
  }

  text(name: string): string {
    return this.arms.texts[name] ?? '';
  }

  count(name: string, number = 1): void {
    this.#field.count(name, number);
  }

  pause(ms: number): Promise<void> {
    return delay(ms);
  }

  /** The same bytes again and again, as fast as they are read. */
  async *endless(bytes: Buffer | string): AsyncIterable<Buffer | string> {
    while (!this.isOver) yield bytes;
  }

  /** Byte by byte with pauses, and from the beginning again. */
  async *dribble(bytes: Buffer): AsyncIterable<Buffer> {
    for (let at = 0; !this.isOver; at = (at + 1) % bytes.length) {
      yield bytes.subarray(at, at + 1);
      await delay(100);
    }
  }

  /** So many of these in a second; catches up when it is late. */
  async *atRate(perSecond: number, one: (number: number) => Buffer | string) {
    const begunMs = performance.now();
    for (let number = 0; !this.isOver; ) {
      const due = ((performance.now() - begunMs) / 1000) * perSecond;
      for (; number < due; number++) yield one(number);
      await delay(TICK_MS);
    }
  }
}

class Field {
  readonly plan: FieldPlan;
  readonly counts: Record<string, number> = { opened: 0, refused: 0, closed: 0, bytes: 0 };
  isOver = false;
  readonly #attack: Attack;
  #opening = 0;

  constructor(plan: FieldPlan, attack: Attack) {
    this.plan = plan;
    this.#attack = attack;
  }

  count(name: string, number = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + number;
  }

  async run(): Promise<void> {
    const lines = Array.from({ length: this.#attack.connections }, (_, at) => new Line(this, at));
    await Promise.all(lines.map((line) => this.#repeat(line)));
  }

  async #repeat(line: Line): Promise<void> {
    for (; !this.isOver; line.round++) {
      try {
        await this.#once(line);
      } catch (error) {
        this.count(`failed: ${error instanceof Error ? error.message : error}`);
        await delay(RECOVERY_MS);
      }
      await delay(this.#attack.retryMs ?? 0);
    }
  }

  async #once(line: Line): Promise<void> {
    const connection = await this.#open(line);
    if (connection === undefined) {
      if (this.isOver) return;
      this.count('refused');
      await delay(RECOVERY_MS);
      return;
    }
    this.count('opened');
    for await (const bytes of this.#attack.sends(line, connection)) {
      this.count('bytes', bytes.length);
      if (!(await connection.write(bytes)) || this.isOver) break;
    }
    if (this.#attack.holds) await connection.closed;
    if (connection.wasClosed && !this.isOver) this.count('closed');
    connection.reset();
  }

  /** Undefined when it is not admitted. */
  async #open(line: Line): Promise<Connection | undefined> {
    while (this.#opening >= OPENING_AT_A_TIME && !this.isOver) await delay(TICK_MS);
    if (this.isOver) return undefined;
    this.#opening++;
    try {
      const { to = 'mqtt', as, isDeaf, connect } = this.#attack;
      const connection = new Connection(this.#endpoint(to, line.index));
      if (isDeaf) connection.socket.pause();
      else connection.socket.on('data', (chunk) => this.#heard(to, chunk));
      if (as === undefined) return (await connection.opened()) ? connection : undefined;
      const code = await connection.logIn(this.#login(line, as), connect?.(line));
      if (code > 0) this.count('answered');
      if (code !== 0) connection.reset();
      else if (isDeaf) connection.socket.pause();
      return code === 0 ? connection : undefined;
    } finally {
      this.#opening--;
    }
  }

  #heard(to: Listener, chunk: Buffer): void {
    if (to !== 'http' && to !== 'https') return;
    if (chunk.includes(CLIENT_ERROR) || chunk.includes(SERVER_ERROR)) this.count('refused');
  }

  #login({ index, round }: Line, as: 'device' | 'token'): Login {
    const { devices, tokens } = this.plan.arms;
    const logins = as === 'device' ? devices : tokens;
    const login = logins[index % logins.length];
    if (login === undefined) throw new Error(`the attack has no ${as}`);
    return { ...login, clientId: `${login.username}-${index}-${as === 'device' ? 0 : round}` };
  }

  #endpoint(listener: Listener, index: number): Endpoint {
    const { host, ports, addresses } = this.plan;
    const port = ports[listener];
    if (port === undefined) throw new Error(`the target has no ${listener}`);
    const localAddress = addresses[index % addresses.length] ?? host;
    const isTls = !this.#attack.isPlain && (listener === 'mqtts' || listener === 'https');
    return { host, port, localAddress, isTls };
  }
}

let field: Field | undefined;
let failure: unknown;

answerCalls({
  ready: () => undefined,
  begin: (value) => {
    const plan = fieldPlanSchema.parse(value);
    const attack = ATTACKS.find(({ name }) => name === plan.attack);
    if (attack === undefined) throw new Error(`there is no attack ${plan.attack}`);
    field = new Field(plan, attack);
    field.run().catch((error: unknown) => {
      failure = error;
    });
  },
  end: () => {
    if (field !== undefined) field.isOver = true;
    if (failure !== undefined) throw failure;
    return field?.counts;
  },
});
