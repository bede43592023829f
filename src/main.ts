#!/usr/bin/env node
import { closeSync, openSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { z } from 'zod';
import { adminToken } from './commands/admin-token.js';
import { backup } from './commands/backup.js';
import { checkConfig } from './commands/check-config.js';
import type { Command } from './commands/command.js';
import { doctor } from './commands/doctor.js';
import { restore } from './commands/restore.js';
import { findConfigFile } from './config/file.js';
import { loadConfig } from './config/load.js';
import { configWarnings } from './config/rules.js';
import type { Config } from './config/schema.js';
import { isAnyAddress } from './domain/addresses.js';
import { type FieldFault, GatewayError, systemErrorCode } from './errors.js';
import type { GatewayAddresses } from './listening.js';
import { createLog, LogSink, RepeatedLines } from './logging/log.js';
import { maxOpenFiles } from './network/open-files.js';
import type { Service } from './service.js';
import { notifySystemd, watchdogTimeoutMs } from './systemd-notify.js';

const programDir = dirname(dirname(fileURLToPath(import.meta.url)));
const EXIT_FAILED = 1;
const EXIT_FAULTY_CONFIG = 2;
/** How long a stop may take (contract 1, stop). */
const STOP_DEADLINE_MS = 10_000;
const LAST_LINES_TIMEOUT_MS = 500;
/** How many signs of life are sent within systemd's watchdog timeout. */
const WATCHDOG_PARTS = 3;
const STANDARD_OUTPUT = 1;
/** In the order of the help. */
const COMMANDS: readonly Command[] = [checkConfig, doctor, adminToken, backup, restore];
const USAGE = `usage: care-home-gateway [COMMAND] [--config FILE]
       care-home-gateway [COMMAND] --help
       care-home-gateway --version

Starts the gateway, or runs a command:

${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n')}
`;

/** What the program is to do. */
interface Arguments {
  readonly command: Command | undefined;
  readonly file: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly operands: readonly string[];
}

function readArguments(): Arguments {
  const all = process.argv.slice(2);
  // The first that is named: a file may have the name of another.
  const named = all.find((one) => COMMANDS.some(({ name }) => name === one));
  const command = COMMANDS.find(({ name }) => name === named);
  try {
    const { values, positionals } = parseArgs({
      args: all.toSpliced(all.indexOf(command?.name ?? ''), command === undefined ? 0 : 1),
      options: {
        ...command?.options,
        config: { type: 'string' },
        help: { type: 'boolean' },
        version: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    if (values.help) answer(command?.help ?? USAGE);
    if (values.version) answer(`${readVersion()}\n`);
    if (positionals.length === (command?.operands ?? []).length) {
      const { config: file, ...options } = values;
      return { command, file, options, operands: positionals };
    }
  } catch {
    // The usage below answers an unknown option.
  }
  process.stderr.write(command?.help ?? USAGE);
  process.exit(EXIT_FAULTY_CONFIG);
}

/** Prints the text and exits without starting a gateway. */
function answer(text: string): never {
  process.stdout.write(text);
  process.exit(0);
}

/** Reads the configuration, or prints its faults, one per line, and exits. */
function readConfig(): Config {
  try {
    return loadConfig(sources);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (command?.judge !== undefined) process.exit(command.judge(error.faults));
    return reject(error.detail, error.faults);
  }
}

function reject(detail: string, faults: readonly FieldFault[]): never {
  process.stderr.write(`${detail}\n`);
  for (const { path, message } of faults) process.stderr.write(`  ${path}: ${message}\n`);
  process.exit(EXIT_FAULTY_CONFIG);
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
 * Tells systemd regularly that the event loop turns, where the whole gateway runs.
 *
 * This says nothing about the store. While the store does not answer, alarms are still forwarded live
 * (contract 4.4), and a restarted gateway waits for it.
 */
function feedWatchdog(log: Logger): void {
  const timeoutMs = watchdogTimeoutMs(process.env, process.pid);
  if (timeoutMs === undefined) return;
  setInterval(() => tellSystemd('WATCHDOG=1', log), timeoutMs / WATCHDOG_PARTS).unref();
}

/** Exits once the log is written. */
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

/** Ends by the signal: Node's own exit restores the terminal, and aborts if the terminal is gone. */
function endByHangup(): void {
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

/** Reloads what SIGHUP changes. A faulty configuration is logged and changes nothing. */
function reload(service: Service, log: Logger): void {
  try {
    // The file used at the start must still exist: without it, every bridge would be missing.
    const changed = loadConfig({ ...sources, file: configFile, isReadAgain: true });
    service.reload(changed).then(
      () =>
        log.info(
          'reloaded the bridges, outputs, escalations, drills and the TLS certificate; other keys take effect with a new start',
        ),
      (error: unknown) => log.error({ err: error }, 'failed to reload'),
    );
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ faults: error.faults }, `failed to reload, nothing is changed: ${error.detail}`);
  }
}

/** Whether SIGHUP means a closed terminal instead of a reload. */
function isTerminalGone(): boolean {
  if (!isInTerminal) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}

/** Handles signals. The returned function tells whether one is ending the gateway. */
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
  // The starter was killed, and nobody else knows this process.
  process.once('disconnect', () => {
    if (!isStopping) end('SIGTERM');
  });
  process.on('SIGINT', end);
  process.on('SIGHUP', (signal) => {
    if (!isTerminalGone()) reload(service, log);
    else if (!isStopping) end(signal);
  });
  return () => isStopping;
}

/** Logs a failed start in one line. Only an unexpected failure has a stack. */
function logFailedStart(error: unknown, log: Logger): void {
  const isKnown = error instanceof GatewayError;
  const cause = isKnown ? error.cause : error;
  const isExplained = isKnown && (cause === undefined || systemErrorCode(cause) !== undefined);
  const reason = cause instanceof Error ? cause.message : undefined;
  const detail = isKnown ? error.detail : 'an unexpected error';
  log.fatal(isExplained ? { reason } : { err: error }, `failed to start the gateway: ${detail}`);
}

/** The URL of the console, with the description of the interface below it; ends with a slash. */
function browserUrl({ address, port }: GatewayAddresses['http'], publicUrl?: string): string {
  if (publicUrl !== undefined) return `${publicUrl}/`;
  const url = new URL('http://localhost/');
  if (!isAnyAddress(address)) url.hostname = isIPv6(address) ? `[${address}]` : address;
  url.port = String(port);
  return url.href;
}

async function runCommand(command: Command): Promise<void> {
  try {
    process.exitCode = await command.run({ config, version: readVersion(), options, operands });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    process.stderr.write(`${error.detail}\n`);
    process.exitCode = EXIT_FAILED;
  }
}

async function run(config: Config): Promise<void> {
  const log = createLog(config.log.level, sink, repeated);
  repeated.start();
  const nowMs = Date.now();
  for (const warning of configWarnings(config, nowMs)) log.warn(warning);
  // A library's unhandled rejection must not end the process (dependency-faults.md, 15).
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
  // Only now: reading or checking a configuration need not wait for the whole gateway to load.
  const { Service } = await import('./service.js');
  let isFed = false;
  /** Feeds the watchdog from the first call on: a gateway that stands by is as alive as one that serves. */
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
      const adminTokenFile =
        config.adminToken === undefined ? join(config.dataDir, 'admin.token') : undefined;
      log.info({ addresses, console: url, docs: `${url}docs`, adminTokenFile }, 'gateway ready');
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

// Little survives a young collection: threads that share this work take more processor time, and longer, than a
// single thread takes for all of it.
setFlagsFromString('--no-parallel-scavenge');
const { command, file, options, operands } = readArguments();
const sources = { file, env: process.env, programDir, cwd: process.cwd() };
const config = readConfig();
const configFile = findConfigFile(sources);
const isInTerminal = isatty(process.stdin.fd) || isatty(STANDARD_OUTPUT);
const sink = new LogSink(STANDARD_OUTPUT);
const repeated = new RepeatedLines(performance.now.bind(performance));
if (command === undefined) run(config);
else runCommand(command);
