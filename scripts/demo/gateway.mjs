import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 30_000;
const LOOK_INTERVAL_MS = 50;
/** The gateway exits by itself after ten seconds (CONTRACT 1, stop). */
const STOP_TIMEOUT_MS = 12_000;

/**
 * Starts the real gateway as a process of its own, whose log and data are in the directory.
 *
 * @param {string} directory
 * @param {AbortSignal} signal
 * @throws when the gateway ends before it is ready, or the signal is aborted; `stop` is for the caller
 */
export function spawnGateway(directory, signal) {
  const log = join(directory, 'gateway.log');
  const config = join(directory, 'gateway.yaml');
  // A file of its own, so that the sample, perhaps edited, is not read.
  writeFileSync(config, 'dataDir: data\nmqtt:\n  port: 0\nhttp:\n  port: 0\n');
  const output = openSync(log, 'w', 0o600);
  const child = spawn(process.execPath, [PROGRAM, '--config', config], {
    cwd: directory,
    env: withoutGatewaySettings(process.env),
    stdio: ['ignore', output, output],
    // A group of its own: Ctrl-C in the terminal is for the demo, which stops the gateway last.
    detached: true,
  });
  closeSync(output);
  let isStopping = false;
  /** Rejects when the gateway ends by itself. */
  const ended = new Promise((_, reject) => {
    child.once('error', (error) => reject(new Error(`the gateway failed: ${error.message}`)));
    child.once('exit', (status, end) => {
      if (isStopping) return;
      const words = lines(log).findLast(({ level }) => level === 60)?.msg;
      const how = `the gateway ended with ${end ?? `status ${status}`}`;
      reject(new Error(words === undefined ? how : `${how}: ${words}`));
    });
  });
  return {
    log,
    ended,
    /** Resolves to the gateway's ports and its administrator's token. */
    async ready() {
      for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS; waitedMs += LOOK_INTERVAL_MS) {
        const line = lines(log).find(({ msg }) => msg === 'gateway ready');
        if (line !== undefined) {
          const { mqtt, http } = line.addresses;
          const adminToken = readFileSync(join(directory, 'data/admin.token'), 'utf8').trim();
          return { mqttPort: mqtt.port, httpUrl: `http://127.0.0.1:${http.port}`, adminToken };
        }
        await delay(LOOK_INTERVAL_MS, undefined, { signal });
      }
      throw new Error('the gateway did not become ready');
    },
    /** Ends the gateway and its store, by force if need be; resolves to whether it ended cleanly. */
    async stop() {
      isStopping = true;
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
        const exit = once(child, 'exit');
        const force = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
        child.kill('SIGTERM');
        await exit;
        clearTimeout(force);
      }
      await endAbandonedStore(directory);
      // By the signal if it had not yet begun to handle it.
      return child.exitCode === 0 || child.signalCode === 'SIGTERM';
    },
  };
}

/** The entries of a log; a line that is no JSON, or half of it, is left out. */
function lines(log) {
  return readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}

/** Removes the settings of a real gateway, which may name its store. */
function withoutGatewaySettings(environment) {
  const isOfOther = (name) => name.startsWith('GATEWAY_') || name === 'NOTIFY_SOCKET';
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !isOfOther(name)));
}

/** Ends the store of a killed gateway, which outlives it on purpose; one that ended has removed its file. */
async function endAbandonedStore(directory) {
  try {
    const pid = Number(readFileSync(join(directory, 'data/redis/redis.pid'), 'utf8'));
    if (pid <= 1) return;
    process.kill(pid, 'SIGKILL');
    for (let look = 0; look < 20 && process.kill(pid, 0); look++) await delay(LOOK_INTERVAL_MS);
  } catch {
    // Without the file or the process there is nothing left to end.
  }
}
