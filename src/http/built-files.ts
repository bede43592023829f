import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { GatewayError } from '../errors.js';

/** The values that the build cannot know, by their placeholders in the files. */
export interface OwnValues {
  readonly VERSION: string;
  /** Where clients reach the gateway. */
  readonly SERVER_URL: string;
  readonly MQTT_PORT: string;
  readonly MQTTS_PORT: string;
  readonly HTTP_PORT: string;
  readonly HTTPS_PORT: string;
}

/** The files that `npm run build` makes for clients: the console, and the descriptions of the interface. */
export class BuiltFiles {
  readonly #directory: string;
  readonly #names: ReadonlySet<string>;
  readonly #values: ReadonlyMap<string, string>;
  /** Kept in memory, so they are still served while an update replaces the files. */
  readonly #kept = new Map<string, Buffer>();

  /** @throws GatewayError `start-failed` when files are missing */
  constructor(directory: string, values: OwnValues) {
    this.#directory = directory;
    this.#names = namesIn(directory);
    this.#values = new Map(
      // They stand within quotes in JSON.
      Object.entries(values).map(([name, value]) => [name, JSON.stringify(value).slice(1, -1)]),
    );
    for (const name of this.#names) {
      if (extname(name) !== '' && !LARGE.test(name)) this.#kept.set(name, this.read(name));
    }
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  read(name: string): Buffer {
    return this.#kept.get(name) ?? readFileSync(join(this.#directory, name));
  }

  /** Reads a text and fills in the gateway's own values: `%MQTT_PORT%` stands for its port. */
  readFilled(name: string): Buffer {
    const text = this.read(name).toString();
    return Buffer.from(
      text.replaceAll(/%([A-Z_]+)%/g, (whole, value: string) => this.#values.get(value) ?? whole),
    );
  }
}

/** Read only when somebody asks for them. */
const LARGE = /^docs\/swagger-ui/;
const NEEDED = ['index.html', 'openapi.json', 'asyncapi.json', 'docs/http.html', 'docs/mqtt.html'];

function namesIn(directory: string): ReadonlySet<string> {
  try {
    const names = new Set(readdirSync(directory, { recursive: true }).map(String));
    if (NEEDED.every((name) => names.has(name))) return names;
  } catch {
    // The directory is missing: the remedy is the same.
  }
  const detail = `the console in ${directory} cannot be read: npm ci && npm run build`;
  throw new GatewayError('start-failed', detail);
}
