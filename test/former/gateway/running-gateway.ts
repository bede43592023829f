import { z } from 'zod';
import { gatewayStartedAt } from '../../harness/described/described-origins.js';
import { Lines } from '../lines.js';
import { unusedPort } from '../servers/unused-port.js';

const bound = z.object({ address: z.string(), port: z.number() });

export const addressesSchema = z.object({
  mqtt: bound,
  http: bound,
  mqtts: bound.optional(),
  https: bound.optional(),
});
type Addresses = z.infer<typeof addressesSchema>;

export const ADMIN_TOKEN = 'admin-token-of-the-tests';

/** Variables for the gateway; undefined removes a default. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A gateway that a test has started, in its own process or in that of the test. */
export abstract class RunningGateway {
  readonly dataDir: string;
  readonly #environment: Environment;
  protected readonly log = new Lines();
  #addresses: Addresses | undefined;
  /** For MQTT and HTTP. Kept across a restart, so they must be ports that Linux does not give away meanwhile. */
  #ports: readonly [number, number] | undefined;

  protected constructor(dataDir: string, environment: Environment) {
    this.dataDir = dataDir;
    this.#environment = environment;
  }

  /** All lines of its log, across all its starts. */
  get lines(): readonly string[] {
    return this.log.all;
  }

  get addresses(): Addresses {
    if (this.#addresses === undefined) throw new Error('the gateway is not ready');
    return this.#addresses;
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.addresses.http.port}`;
  }

  get mqttUrl(): string {
    return `mqtt://127.0.0.1:${this.addresses.mqtt.port}`;
  }

  get mqttPort(): number {
    return this.addresses.mqtt.port;
  }

  /** Resolves to the first log line with the text, from the given line on. */
  logged(text: string | RegExp, from = 0, timeoutMs?: number): Promise<string> {
    return this.log.next(text, from, timeoutMs);
  }

  /** Starts the gateway; after `stop`, on the same ports, as a box does. */
  abstract start(): Promise<void>;
  /** Ends the gateway as an operator does. */
  abstract stop(): Promise<unknown>;
  /** Ends the gateway and its store, and removes their data. */
  abstract remove(): Promise<void>;

  /** Finds ports for the first start. */
  protected async choosePorts(): Promise<void> {
    this.#ports ??= [await unusedPort(), await unusedPort()];
  }

  protected readyAt(addresses: Addresses): void {
    this.#addresses = addresses;
    gatewayStartedAt(this.httpUrl);
  }

  /** Its environment variables. */
  protected get variables(): Environment {
    const [mqttPort, httpPort] = this.#ports ?? [0, 0];
    return {
      PATH: process.env['PATH'] ?? '',
      GATEWAY_DATA_DIR: this.dataDir,
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      GATEWAY_MQTT_PORT: String(mqttPort),
      GATEWAY_HTTP_PORT: String(httpPort),
      ...this.#environment,
    };
  }

  /** A variable that the test set. */
  protected given(name: string): string | undefined {
    return this.#environment[name];
  }
}
