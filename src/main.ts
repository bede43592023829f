#!/usr/bin/env node
import { closeSync, openSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { dirname } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { GatewayAddresses } from './composition/listening.js';
import { findConfigFile } from './config/file.js';
import { loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { configWarnings, endedCertificateFaults } from './config/warnings.js';
import { isAnyAddress } from './domain/addresses.js';
import { type FieldFault, GatewayError, systemErrorCode } from './errors.js';
import { createLog, lostLines } from './logging/log.js';
import { LogSink } from './logging/log-sink.js';
import { RepeatedLines } from './logging/repeated-lines.js';
import type { Service } from './service.js';
import { notifySystemd, watchdogTimeoutMs } from './systemd-notify.js';

const programDir = dirname(dirname(fileURLToPath(import.meta.url)));
const EXIT_FAILED = 1;
const EXIT_FAULTY_CONFIG = 2;
/** How long a stop may take (docs/reference/contract.md, 1, stop). */
const STOP_DEADLINE_MS = 10_000;
const LAST_LINES_TIMEOUT_MS = 500;
/** So many signs of life in the time after which systemd misses them. */
const WATCHDOG_PARTS = 3;
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
    // An unknown option is answered with the usage below.
  }
  process.stderr.write(USAGE);
  process.exit(EXIT_FAULTY_CONFIG);
}

/** Prints the text and exits, without a gateway. */
function answer(text: string): never {
  process.stdout.write(text);
  process.exit(0);
}

/** Reads the configuration, or prints its faults, one a line, and exits. */
function readConfig(): Config {
  try {
    return loadConfig(sources);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return reject(error.detail, error.faults);
  }
}

function reject(detail: string, faults: readonly FieldFault[]): never {
  process.stderr.write(`${detail}\n`);
  for (const { path, message } of faults) process.stderr.write(`  ${path}: ${message}\n`);
  process.exit(EXIT_FAULTY_CONFIG);
}

/** Prints what the configuration should not say, and that it is valid all the same. */
function checked(config: Config): void {
  const nowMs = Date.now();
  const faults = endedCertificateFaults(config, nowMs);
  if (faults.length > 0) reject('the configuration has one fault', faults);
  for (const warning of configWarnings(config, nowMs))
    process.stderr.write(`warning: ${warning}\n`);
  process.stdout.write('the configuration is valid\n');
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

/**
 * Tells systemd again and again that the event loop turns, in which all of the gateway runs.
 *
 * Not that the store answers: while it does not, alarms go on being forwarded live (docs/reference/contract.md, 4.4), and a gateway that
 * is started anew waits for it.
 */
function feedWatchdog(log: Logger): void {
  const timeoutMs = watchdogTimeoutMs(process.env, process.pid);
  if (timeoutMs === undefined) return;
  setInterval(() => tellSystemd('WATCHDOG=1', log), timeoutMs / WATCHDOG_PARTS).unref();
}

/** Exits after the log is written. */
async function exit(code: number): Promise<never> {
  repeated.stop();
  await sink.drain(LAST_LINES_TIMEOUT_MS);
  process.exit(code);
}

async function stop(service: Service, log: Logger, signal: string): Promise<void> {
  log.info({ signal }, 'gateway stopping');
  tellSystemd('STOPPING=1', log);
  setTimeout(() => {
    log.error('failed to stop the gateway in time');
    exit(EXIT_FAILED);
  }, STOP_DEADLINE_MS).unref();
  await service.stop();
  repeated.stop();
  log.info('gateway stopped');
  if (signal === 'SIGHUP') endByHangup();
  else await exit(0);
}

/** Ends by the signal: Node's own exit restores the terminal, and aborts when that is gone. */
function endByHangup(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

/** Reloads the bridges and the TLS certificate on SIGHUP; a faulty configuration is logged and changes nothing. */
function reload(service: Service, log: Logger): void {
  try {
    // The file of the start must still exist: without it every bridge would be missing.
    const changed = loadConfig({ ...sources, file: configFile, isReadAgain: true });
    service.reload(changed).then(
      () =>
        log.info(
          'reloaded the bridges and the TLS certificate; other keys take effect with a new start',
        ),
      (error: unknown) => log.error({ err: error }, 'failed to reload the bridges'),
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ faults: error.faults }, `failed to reload, nothing is changed: ${error.detail}`);
  }
}

/** Whether SIGHUP means a closed terminal, and not a reload. */
function isTerminalGone(): boolean {
  if (!isInTerminal) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}

/** Handles signals; the result tells whether one of them is ending the gateway. */
function handleSignals(service: Service, log: Logger): () => boolean {
  let isStopping = false;
  const end = (signal: string): void => {
    if (isStopping) process.exit(EXIT_FAILED);
    isStopping = true;
    stop(service, log, signal).catch((error: unknown) => {
      log.fatal({ err: error }, 'failed to stop the gateway');
      exit(EXIT_FAILED);
    });
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  process.on('SIGHUP', (signal) => {
    if (!isTerminalGone()) reload(service, log);
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
  log.fatal(isExplained ? { reason } : { err: error }, `failed to start the gateway: ${detail}`);
}

/** How many files the process may open, sockets among them. */
function maxOpenFiles(): number {
  const limit = z.union([z.number(), z.literal('unlimited')]);
  const report = z.object({ userLimits: z.object({ open_files: z.object({ soft: limit }) }) });
  const { soft } = report.parse(process.report.getReport()).userLimits.open_files;
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : soft;
}

/** Where a browser finds the console, and below it the description of the interface; ends with a slash. */
function browserUrl({ address, port }: GatewayAddresses['http'], publicUrl?: string): string {
  if (publicUrl !== undefined) return `${publicUrl}/`;
  const url = new URL('http://localhost/');
  if (!isAnyAddress(address)) url.hostname = isIPv6(address) ? `[${address}]` : address;
  url.port = String(port);
  return url.href;
}

async function run(config: Config): Promise<void> {
  const log = createLog({ level: config.log.level, destination: sink, repeated });
  repeated.start();
  const nowMs = Date.now();
  for (const warning of configWarnings(config, nowMs)) log.warn(warning);
  // A library's unhandled rejection must not end the process (dependency-faults.md, 7).
  process.on('unhandledRejection', (error) =>
    log.error({ part: 'process', err: error }, 'unhandled rejection'),
  );
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'gateway failed');
    exit(EXIT_FAILED);
  });
  try {
    await serve(config, log);
  } catch (error) {
    logFailedStart(error, log);
    await exit(EXIT_FAILED);
  }
}

async function serve(config: Config, log: Logger): Promise<void> {
  // Only now: what reads or checks a configuration need not wait for all that a gateway loads.
  const { Service } = await import('./service.js');
  let isFed = false;
  /** Once: a gateway that stands by is as alive as one that serves. */
  const started = () => {
    tellSystemd('READY=1', log);
    if (!isFed) feedWatchdog(log);
    isFed = true;
  };
  const service = new Service({
    config,
    log,
    version: readVersion(),
    consoleDirectory: `${programDir}/dist/console`,
    searchPath: process.env['PATH'],
    runtime: process.version,
    maxOpenFiles: maxOpenFiles(),
    now: Date.now,
    elapsed: performance.now.bind(performance),
    onReady: (addresses) => {
      const url = browserUrl(addresses.http, config.http.publicUrl);
      log.info({ addresses, console: url, docs: `${url}docs` }, 'gateway ready');
      started();
    },
    onStandingBy: started,
  });
  const isEnding = handleSignals(service, log);
  try {
    await service.run();
  } catch (error) {
    if (!isEnding()) throw error;
  }
}

// What survives a young collection is little: threads that share the work take more processor time, and longer,
// than one takes for all of it.
setFlagsFromString('--no-parallel-scavenge');
const { command, file } = readArguments();
const sources = { file, env: process.env, programDir, cwd: process.cwd() };
const config = readConfig();
const configFile = findConfigFile(sources);
const isInTerminal = isatty(process.stdin.fd) || isatty(STANDARD_OUTPUT);
const sink = new LogSink(STANDARD_OUTPUT, lostLines);
const repeated = new RepeatedLines(performance.now.bind(performance));
if (command === 'check-config') checked(config);
else run(config);
