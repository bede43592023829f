import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { Gateway } from '../../../test/harness/gateway.js';
import { claimPort } from '../../../test/harness/program.js';
import { UNBOUNDED } from '../clients.js';

/** In the sources, because the tools also run compiled. */
const PRELOAD = `${process.cwd()}/tools/chaos/pair/source-address.mjs`;
const READY_TIMEOUT_MS = 1_000;
/** As in systemd/care-home-gateway.service. */
const RESTART_AFTER_MS = 1_000;
const LOOK_EVERY_MS = 100;

const heldLine = z.object({ msg: z.literal('took the lease of the store'), epoch: z.number() });
/** A log line about missing alarms. */
const lostLine = z.object({
  lost: z.object({ alarms: z.object({ from: z.number(), to: z.number() }) }),
});

/** As config/pair/gateway-serves.sh distinguishes them; *faulty* serves, *silent* gives no answer. */
export type Readiness = 'ready' | 'faulty' | 'standing-by' | 'silent';

/** One gateway of a pair, which serves or stands by, and is started again when it ends by itself. */
export class PairGateway {
  readonly name: string;
  readonly gateway: Gateway;
  readonly mqttPort: number;
  /** How it ended when the run had not ended it. */
  readonly unexpectedEnds: string[] = [];
  readonly #httpUrl: string;
  readonly #watch: NodeJS.Timeout;
  #isWanted = false;
  #linesRead = 0;

  private constructor(name: string, gateway: Gateway, mqttPort: number, httpPort: number) {
    this.name = name;
    this.gateway = gateway;
    this.mqttPort = mqttPort;
    this.#httpUrl = `http://127.0.0.1:${httpPort}`;
    this.#watch = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** Creates a gateway that connects from the address, without starting it. */
  static async create(name: string, sourceAddress: string, config: object): Promise<PairGateway> {
    const [mqttPort, httpPort] = [await claimPort(), await claimPort()];
    const env = {
      ...UNBOUNDED,
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTP_PORT: String(httpPort),
      NODE_OPTIONS: `--import=${PRELOAD}`,
      TEST_SOURCE_ADDRESS: sourceAddress,
    };
    const gateway = await Gateway.create({ kind: 'process', env, config });
    return new PairGateway(name, gateway, mqttPort, httpPort);
  }

  /** The epochs of the leases that its log has told of since the last call. */
  newEpochs(): number[] {
    const { lines } = this.gateway;
    const epochs: number[] = [];
    for (; this.#linesRead < lines.length; this.#linesRead++) {
      const held = heldLine.safeParse(parsed(lines[this.#linesRead]));
      if (held.success) epochs.push(held.data.epoch);
    }
    return epochs;
  }

  /** How many alarms the log reports as lost. */
  get toldLost(): number {
    // The same loss may be reported twice: on an append, and by the witness of the store.
    const lost = new Set<number>();
    for (const line of this.gateway.lines) {
      const { from, to } = lostLine.safeParse(parsed(line)).data?.lost.alarms ?? { from: 1, to: 0 };
      for (let number = from; number <= to; number++) lost.add(number);
    }
    return lost.size;
  }

  /** Starts the process without waiting: it may have to stand by, or to serve. */
  async start(): Promise<void> {
    this.gateway.startStandingBy().catch(() => undefined);
    while (!this.gateway.isRunning) await delay(LOOK_EVERY_MS);
    this.#isWanted = true;
  }

  /** Whether the gateway says that it serves, with or without a fault. */
  async isServing(): Promise<boolean> {
    return ['ready', 'faulty'].includes(await this.readiness());
  }

  /** What `/readyz` says. */
  async readiness(): Promise<Readiness> {
    try {
      const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
      const response = await fetch(`${this.#httpUrl}/readyz`, { signal });
      if ((await response.text()).includes('"standing-by"')) return 'standing-by';
      return response.status === 200 ? 'ready' : 'faulty';
    } catch {
      return 'silent';
    }
  }

  freeze(): void {
    this.gateway.signal('SIGSTOP');
  }

  thaw(): void {
    this.gateway.signal('SIGCONT');
  }

  /** Ends the gateway as an operator does. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.gateway.stop();
  }

  /** Ends the gateway as a power cut does. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    await this.gateway.kill();
  }

  /** Ends the gateway for good; its data stays. */
  async end(): Promise<void> {
    clearInterval(this.#watch);
    await this.kill();
  }

  /** Starts it again when it ended on its own, as systemd does. */
  #look(): void {
    if (!this.#isWanted || this.gateway.isRunning) return;
    this.#isWanted = false;
    this.unexpectedEnds.push(`${this.name} after: ${this.gateway.lines.slice(-3).join(' | ')}`);
    setTimeout(() => this.start(), RESTART_AFTER_MS);
  }
}

function parsed(line = ''): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
