import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Logger } from 'pino';
import { z } from 'zod';
import { findConfigFile } from './config/file.js';
import { loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { GatewayError, systemErrorCode } from './errors.js';
import { Gateway } from './gateway.js';
import { createLog, lostLines } from './log.js';
import { LogSink } from './log-sink.js';
import { notifySystemd } from './systemd-notify.js';

const programDir = dirname(dirname(fileURLToPath(import.meta.url)));
const EXIT_FAILED = 1;
const EXIT_FAULTY_CONFIG = 2;
/** CONTRACT 1, stop. */
const STOP_DEADLINE_MS = 10_000;
const LAST_LINES_TIMEOUT_MS = 500;
const STANDARD_OUTPUT = 1;
const USAGE = `usage: node dist/main.js [check-config] [--config FILE]
       node dist/main.js --help | --version

Starts the gateway. check-config only checks its configuration: status 0 or 2.
`;

interface Invocation {
  readonly command: string | undefined;
  readonly file: string | undefined;
}

function readArguments(): Invocation {
  try {
    const { values, positionals } = parseArgs({
      options: {
        config: { type: 'string' },
        help: { type: 'boolean' },
        version: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    if (values.help) answer(USAGE);
    if (values.version) answer(`${readVersion()}\n`);
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

/** Prints what was asked for instead of a gateway, and exits. */
function answer(text: string): never {
  process.stdout.write(text);
  process.exit(0);
}

/** Prints every fault of the configuration, one a line, and exits. */
function readConfig(): Config {
  try {
    return loadConfig(sources);
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
    log.warn({ err: error }, 'failed to notify systemd');
  });
}

/** A way to end that still says why: the log is written before. */
async function exit(code: number): Promise<never> {
  await sink.drain(LAST_LINES_TIMEOUT_MS);
  process.exit(code);
}

async function stop(gateway: Gateway, log: Logger, signal: string): Promise<void> {
  log.info({ signal }, 'gateway stopping');
  tellSystemd('STOPPING=1', log);
  setTimeout(() => {
    log.error('failed to stop the gateway in time');
    exit(EXIT_FAILED);
  }, STOP_DEADLINE_MS).unref();
  await gateway.stop();
  log.info('gateway stopped');
  if (signal === 'SIGHUP') endByHangup();
  else await exit(0);
}

/** Node's own way to exit restores its terminal and aborts where there is none any more. */
function endByHangup(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

/** SIGHUP: a faulty configuration changes nothing, and the log says why. */
function reload(gateway: Gateway, log: Logger): void {
  try {
    // The file of the start must still be there: without it every bridge would go.
    const changed = loadConfig({ ...sources, file: configFile, isReadAgain: true });
    gateway.reload(changed).then(
      () => log.info('the bridges are as configured; other keys take effect with a new start'),
      (error: unknown) => log.error({ err: error }, 'failed to reload the bridges'),
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ faults: error.faults }, `not reloaded, nothing is changed: ${error.detail}`);
  }
}

/** Whether SIGHUP comes from a closed terminal; a request to reload is the same signal. */
function isTerminalGone(): boolean {
  if (!isInTerminal) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}

/** Returns whether one of them is ending the gateway. */
function handleSignals(gateway: Gateway, log: Logger): () => boolean {
  let isStopping = false;
  const end = (signal: string): void => {
    if (isStopping) process.exit(EXIT_FAILED);
    isStopping = true;
    stop(gateway, log, signal).catch((error: unknown) => {
      log.fatal({ err: error }, 'failed to stop the gateway');
      exit(EXIT_FAILED);
    });
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  process.on('SIGHUP', (signal) => {
    if (!isTerminalGone()) reload(gateway, log);
    else if (!isStopping) end(signal);
  });
  return () => isStopping;
}

/** Logs a failed start in one line; only an unforeseen failure has a stack. */
function logFailedStart(error: unknown, log: Logger): void {
  const isKnown = error instanceof GatewayError;
  const cause = isKnown ? error.cause : error;
  const isExplained = isKnown && (cause === undefined || systemErrorCode(cause) !== undefined);
  const reason = cause instanceof Error ? cause.message : undefined;
  const detail = isKnown ? error.detail : 'an unexpected error';
  log.fatal(isExplained ? { reason } : { err: error }, `gateway not started: ${detail}`);
}

async function run(config: Config): Promise<void> {
  const log = createLog({ level: config.log.level, destination: sink });
  // A library's promise without a handler must not end the process (DEPENDENCY-FAULTS 7).
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled rejection'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'gateway failed');
    exit(EXIT_FAILED);
  });
  const gateway = new Gateway({
    config,
    log,
    version: readVersion(),
    searchPath: process.env['PATH'],
    now: Date.now,
    elapsed: performance.now.bind(performance),
  });
  const isEnding = handleSignals(gateway, log);
  try {
    const addresses = await gateway.start();
    log.info({ addresses }, 'gateway ready');
    tellSystemd('READY=1', log);
  } catch (error) {
    if (isEnding()) return;
    logFailedStart(error, log);
    await exit(EXIT_FAILED);
  }
}

const { command, file } = readArguments();
const sources = { file, env: process.env, programDir, cwd: process.cwd() };
const config = readConfig();
const configFile = findConfigFile(sources);
const isInTerminal = isatty(process.stdin.fd) || isatty(STANDARD_OUTPUT);
const sink = new LogSink(STANDARD_OUTPUT, lostLines);
if (command === 'check-config') process.stdout.write('the configuration is valid\n');
else await run(config);
