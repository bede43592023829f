import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Gateway, storeProcessId } from '../../test/harness/gateway.js';
import { Home } from '../../test/harness/home.js';
import type { Login } from '../../test/harness/load/plan.js';
import type { TestDevice, TestToken } from '../../test/harness/mqtt.js';
import { claimPort, residentBytes } from '../../test/harness/program.js';
import { times } from '../../test/harness/wait.js';
import type { Arms, Needs } from './attack.js';
import type { FieldPlan } from './field.js';

const run = promisify(execFile);
const KEYS = { rsa: ['rsa:4096'], ecdsa: ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] };
const ATTACKER_NAME = 'Hostile camera';
const SAMPLE_EVERY_MS = 250;
const EXPOSED = {
  GATEWAY_ALLOW_PLAINTEXT: 'true',
  GATEWAY_MQTT_HOST: '0.0.0.0',
  GATEWAY_HTTP_HOST: '0.0.0.0',
};

/** The built gateway on its embedded store, with the victims' home and the attacker's. */
export class Site {
  readonly gateway: Gateway;
  readonly victims: Home;
  readonly attackers: Home;
  /** Devices, tokens and addresses of the attacker, as faults may name them. */
  readonly attackerNames = new Set<string>([ATTACKER_NAME]);
  /** Every fault that there was. */
  readonly faults = new Set<string>();
  /** The most that gateway and store have used since the last `measure`. */
  readonly peak = { residentBytes: [0, 0], descriptors: 0 };
  readonly upstreamPort: number;
  /** A device of the victims that connects anew for each of its alarms. */
  readonly newcomer: TestDevice;
  readonly #directory: string;
  readonly #processIds: readonly number[];
  readonly #timer: NodeJS.Timeout;
  #isSampling = false;

  private constructor(parts: {
    gateway: Gateway;
    victims: Home;
    attackers: Home;
    newcomer: TestDevice;
    directory: string;
    upstreamPort: number;
  }) {
    const { gateway } = parts;
    this.gateway = gateway;
    this.victims = parts.victims;
    this.attackers = parts.attackers;
    this.newcomer = parts.newcomer;
    this.upstreamPort = parts.upstreamPort;
    this.#directory = parts.directory;
    this.#processIds = [gateway.processId, storeProcessId(gateway.dataDir) ?? 0];
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  /** @param isExposed whether it listens on every address of its namespace */
  static async start(needs: Needs, isExposed: boolean): Promise<Site> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-hostile-'));
    const upstreamPort = needs.hasUpstream ? await claimPort() : 0;
    const url = `mqtt://127.0.0.1:${upstreamPort}`;
    const bridges = [{ name: 'hostile', url, protocol: '3.1.1' }];
    const gateway = await Gateway.start({
      kind: 'process',
      ...(needs.maxOpenFiles !== undefined && { maxOpenFiles: needs.maxOpenFiles }),
      ...(needs.hasUpstream && { config: { bridges } }),
      env: {
        ...(needs.tls !== undefined && (await tlsVariables(directory, needs.tls))),
        ...(isExposed && EXPOSED),
        ...needs.env,
      },
    });
    const victims = await Home.at(gateway, 'Haus am See');
    const attackers = await Home.at(gateway, 'Haus am Wald');
    const newcomer = await victims.device('Newcomer');
    return new Site({ gateway, victims, attackers, newcomer, directory, upstreamPort });
  }

  /** Creates the attacker's clients in its own home. */
  async arms(deviceCount = 0, tokenCount = 0): Promise<Arms> {
    const home = this.attackers;
    const devices = await times(deviceCount, () => home.device(ATTACKER_NAME));
    const tokens = await times(tokenCount, () => home.token('viewer', ATTACKER_NAME));
    for (const { id } of [...devices, ...tokens]) this.attackerNames.add(id);
    return {
      devices: devices.map((device) => loginOf(device)),
      tokens: tokens.map((token) => loginOf(token)),
      filter: `${home.path.slice(1)}/#`,
      texts: {},
    };
  }

  get ports(): FieldPlan['ports'] {
    const { mqtt, http, mqtts, https } = this.gateway.addresses;
    const tls = mqtts !== undefined && https !== undefined;
    return {
      mqtt: mqtt.port,
      http: http.port,
      ...(tls && { mqtts: mqtts.port, https: https.port }),
    };
  }

  get logBytes(): number {
    return this.gateway.lines.reduce((sum, line) => sum + line.length + 1, 0);
  }

  /** The fault that names the attacker. */
  get namedBy(): string | undefined {
    const names = [...this.attackerNames];
    return [...this.faults].find((fault) => names.some((name) => fault.includes(name)));
  }

  /** Names a process that has ended; undefined while all of them run. */
  async ended(): Promise<string | undefined> {
    if (!this.gateway.isRunning) return 'the gateway has ended';
    const isAlive = storeProcessId(this.gateway.dataDir) === this.#processIds[1];
    return isAlive ? undefined : 'the store has ended';
  }

  async remove(): Promise<void> {
    clearInterval(this.#timer);
    await this.gateway.remove();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #sample(): Promise<void> {
    if (this.#isSampling) return;
    this.#isSampling = true;
    for (const [at, processId] of this.#processIds.entries()) {
      // A process that has ended uses nothing; `ended` tells of it.
      const resident = (await residentBytes(processId).catch(() => 0)) || 0;
      const open = await readdir(`/proc/${processId}/fd`).catch(() => []);
      this.peak.residentBytes[at] = Math.max(this.peak.residentBytes[at] ?? 0, resident);
      this.peak.descriptors = Math.max(this.peak.descriptors, open.length);
    }
    for (const fault of await this.victims.faults().catch(() => [])) this.faults.add(fault);
    this.#isSampling = false;
  }
}

export function loginOf(who: TestDevice | TestToken, clientId = who.id): Login {
  return { clientId, username: who.id, password: 'secret' in who ? who.secret : who.token };
}

/** Creates a certificate in the directory. Resolves to the environment of a gateway with TLS listeners. */
async function tlsVariables(directory: string, kind: 'rsa' | 'ecdsa') {
  const [certFile, keyFile] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  const files = ['-keyout', keyFile, '-out', certFile];
  const subject = ['-days', '2', '-subj', '/CN=localhost'];
  await run('openssl', ['req', '-x509', '-nodes', ...subject, '-newkey', ...KEYS[kind], ...files]);
  return {
    GATEWAY_TLS_CERT_FILE: certFile,
    GATEWAY_TLS_KEY_FILE: keyFile,
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  };
}
