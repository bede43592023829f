import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { until } from './waiting.mjs';

/** Of the audit trail in the store and in a file: so that some of a few records are in files. */
const AUDIT_BOUNDS = { 'MAX_KEPT_BYTES = 8 * MIB': '6_000', 'SEGMENT_BYTES = 4 * MIB': '3_000' };

/** The built program of the checkout, with smaller bounds of the audit trail. */
export function patchedProgram(checkout) {
  const patched = join(checkout, 'dist-small-audit');
  cpSync(join(checkout, 'dist'), patched, { recursive: true });
  const file = join(patched, 'storage.js');
  let text = readFileSync(file, 'utf8');
  for (const [bound, bytes] of Object.entries(AUDIT_BOUNDS)) {
    if (!text.includes(bound)) throw new Error(`${file} has no ${bound}`);
    text = text.replace(bound, `${bound.split(' ')[0]} = ${bytes}`);
  }
  writeFileSync(file, text);
  return join(patched, 'main.js');
}

/** The gateway of version 1 as a process. */
export class VersionOne {
  dataDir;
  lines = [];
  #program;
  #child;
  #addresses;

  constructor(program, dataDir) {
    this.#program = program;
    this.dataDir = dataDir;
  }

  get mqttPort() {
    return this.#addresses.mqtt.port;
  }

  get mqttUrl() {
    return `mqtt://127.0.0.1:${this.mqttPort}`;
  }

  get httpUrl() {
    return `http://127.0.0.1:${this.#addresses.http.port}`;
  }

  get adminToken() {
    return readFileSync(join(this.dataDir, 'admin.token'), 'utf8').trim();
  }

  configure(configuration) {
    writeFileSync(join(this.dataDir, 'gateway.yaml'), stringify(configuration));
  }

  async start() {
    const child = spawn(process.execPath, [this.#program], {
      env: {
        PATH: process.env.PATH,
        GATEWAY_DATA_DIR: this.dataDir,
        GATEWAY_CONFIG: join(this.dataDir, 'gateway.yaml'),
        GATEWAY_MQTT_PORT: '0',
        GATEWAY_HTTP_PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    const ready = new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${this.lines.at(-1)}`)));
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.lines.push(line);
        if (line.includes('"msg":"gateway ready"')) resolve(JSON.parse(line).addresses);
      });
    });
    this.#addresses = await ready;
  }

  async stop() {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const [status] = await ended;
    if (status !== 0) throw new Error(`the gateway ended with ${status}`);
  }

  /** The gateway and its store, as a power cut ends both. */
  async kill() {
    if (this.#child === undefined || this.#child.exitCode !== null) return;
    if (this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    const store = Number(readFileSync(join(this.dataDir, 'redis', 'redis.pid'), 'utf8'));
    this.#child.kill('SIGKILL');
    process.kill(store, 'SIGKILL');
    await ended;
    await until(() => !isAlive(store), 'the store is dead');
  }

  /** `destination log state` → count */
  async counts() {
    const text = await (await fetch(`${this.httpUrl}/metrics`)).text();
    const sample =
      /^gateway_destination_messages\{destination="(.*)",log="(\w+)",state="(\w+)"\} (\d+)$/gm;
    const found = [...text.matchAll(sample)];
    return new Map(found.map(([, name, log, state, n]) => [`${name} ${log} ${state}`, Number(n)]));
  }
}

function isAlive(processId) {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}
