import { z } from 'zod';

const bound = z.object({ address: z.string(), port: z.number() });

export const addressesSchema = z.object({
  mqtt: bound,
  http: bound,
  mqtts: bound.optional(),
  https: bound.optional(),
});
type Addresses = z.infer<typeof addressesSchema>;

export const ADMIN_TOKEN = 'admin-token-of-the-tests';

/** Variables for the gateway; undefined removes one that it has by default. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A gateway that a test has started, in a process of its own or in that of the test. */
export interface RunningGateway {
  readonly dataDir: string;
  readonly addresses: Addresses;
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly mqttPort: number;
  /** All lines of its log, over all its starts. */
  readonly lines: readonly string[];
  /** Resolves to the first log line with the text, from the given line on. */
  logged(text: string | RegExp, from?: number, timeoutMs?: number): Promise<string>;
  /** Starts the gateway again, on the same ports. */
  start(): Promise<void>;
  /** Ends the gateway as an operator does. */
  stop(): Promise<unknown>;
  /** Ends the gateway and its store, and removes their data. */
  remove(): Promise<void>;
}

/** What a gateway of the tests has in its environment. */
export function environmentOf(
  dataDir: string,
  addresses: Addresses | undefined,
  own: Environment,
): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'] ?? '',
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
    GATEWAY_MQTT_PORT: String(addresses?.mqtt.port ?? 0),
    GATEWAY_HTTP_PORT: String(addresses?.http.port ?? 0),
    ...own,
  };
}
