import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import { z } from 'zod';
import { loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { GatewayError } from './errors.js';
import { Gateway } from './gateway.js';
import { createLog } from './log.js';
import { notifySystemd } from './systemd-notify.js';

const programDir = dirname(dirname(fileURLToPath(import.meta.url)));
const EXIT_FAILED = 1;
const EXIT_FAULTY_CONFIG = 2;
/** CONTRACT 1, stop. */
const STOP_DEADLINE_MS = 10_000;
const USAGE = 'usage: node dist/main.js [check-config] [--config FILE]\n';

interface Invocation {
  readonly command: string | undefined;
  readonly file: string | undefined;
}

function readArguments(): Invocation {
  try {
    const { values, positionals } = parseArgs({
      options: { config: { type: 'string' } },
      allowPositionals: true,
    });
    const [command] = positionals;
    if (positionals.length <= 1 && (command === undefined || command === 'check-config')) {
      return { command, file: values.config };
    }
  } catch {
    // An unknown option: the usage says what there is.
  }
  process.stderr.write(USAGE);
  process.exit(EXIT_FAULTY_CONFIG);
}

/** Prints every fault of the configuration, one a line, and exits. */
function readConfig(): Config {
  try {
    return loadConfig({ file, env: process.env, programDir, cwd: process.cwd() });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    process.stderr.write(`${error.detail}\n`);
    for (const { path, message } of error.faults) process.stderr.write(`  ${path}: ${message}\n`);
    process.exit(EXIT_FAULTY_CONFIG);
  }
}

function readVersion(): string {
  const text = readFileSync(`${programDir}/package.json`, 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

function tellSystemd(state: string, log: Logger): void {
  notifySystemd(state, process.env['NOTIFY_SOCKET']).catch((error: unknown) => {
    log.warn({ err: error }, 'systemd was not told');
  });
}

async function stop(gateway: Gateway, log: Logger, signal: string): Promise<void> {
  log.info({ signal }, 'gateway stopping');
  tellSystemd('STOPPING=1', log);
  setTimeout(() => {
    log.error('gateway not stopped in time');
    process.exit(EXIT_FAILED);
  }, STOP_DEADLINE_MS).unref();
  await gateway.stop();
  log.info('gateway stopped');
  process.exit(0);
}

/** SIGHUP: a faulty configuration changes nothing, and the log says why. */
function reload(gateway: Gateway, log: Logger): void {
  try {
    const changed = loadConfig({ file, env: process.env, programDir, cwd: process.cwd() });
    gateway.reload(changed).then(
      () => log.info('bridges reloaded; other keys take effect with a new start'),
      (error: unknown) => log.error({ err: error }, 'bridges not reloaded'),
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ faults: error.faults }, `not reloaded, nothing is changed: ${error.detail}`);
  }
}

async function run(config: Config): Promise<void> {
  const log = createLog({ level: config.log.level });
  // A library's promise that nobody awaits must not end the process (DEPENDENCY-FAULTS 7).
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  const gateway = new Gateway({
    config,
    log,
    version: readVersion(),
    searchPath: process.env['PATH'],
    now: Date.now,
    elapsed: () => performance.now(),
  });
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(EXIT_FAILED);
      stopping = true;
      stop(gateway, log, signal).catch((error: unknown) => {
        log.fatal({ err: error }, 'gateway not stopped');
        process.exit(EXIT_FAILED);
      });
    });
  }
  process.on('SIGHUP', () => reload(gateway, log));
  try {
    const addresses = await gateway.start();
    log.info({ addresses }, 'gateway ready');
    tellSystemd('READY=1', log);
  } catch (error) {
    if (stopping) return;
    const detail = error instanceof GatewayError ? error.detail : 'an unexpected error';
    log.fatal({ err: error }, `gateway not started: ${detail}`);
    process.exit(EXIT_FAILED);
  }
}

const { command, file } = readArguments();
const config = readConfig();
if (command === 'check-config') process.stdout.write('the configuration is valid\n');
else await run(config);
