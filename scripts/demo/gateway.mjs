import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** The gateway exits by itself after ten seconds (CONTRACT 1, stop). */
const STOP_TIMEOUT_MS = 12_000;

/** Starts the real gateway as a process of its own, whose log and data are in the directory. */
export function spawnGateway(directory) {
  const log = join(directory, 'gateway.log');
  const config = join(directory, 'gateway.yaml');
  // A file of its own, so that the sample, perhaps edited, is not read.
  writeFileSync(config, 'dataDir: data\nmqtt:\n  port: 0\nhttp:\n  port: 0\n');
  const child = spawn(process.execPath, [PROGRAM, '--config', config], {
    cwd: directory,
    // Without the settings of a real gateway, which may name its store.
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in the terminal is for the demo, which stops the gateway last.
    detached: true,
  });
  const output = createWriteStream(log, { mode: 0o600 });
  child.stderr.pipe(output, { end: false });
  let isStopping = false;
  let lastWords = '';
  const end = once(child, 'exit');
  /** Rejects when the gateway ends by itself. */
  const ended = end.then(([status, signal]) => {
    if (isStopping) return new Promise(() => undefined);
    throw new Error(`the gateway ended with ${signal ?? `status ${status}`}${lastWords}`);
  });
  const started = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      output.write(`${line}\n`);
      const { level, msg, addresses } = JSON.parse(line);
      if (level === 60) lastWords = `: ${msg}`;
      if (msg === 'gateway ready') resolve(addresses);
    });
  });
  return {
    log,
    ended,
    /** Resolves to the gateway's ports and its administrator's token. */
    async ready() {
      const { mqtt, http } = await Promise.race([started, ended]);
      const adminToken = readFileSync(join(directory, 'data/admin.token'), 'utf8').trim();
      return { mqttPort: mqtt.port, httpUrl: `http://127.0.0.1:${http.port}`, adminToken };
    },
    /** Ends the gateway and its store, by force if need be; resolves to whether it ended cleanly. */
    async stop() {
      isStopping = true;
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      child.kill('SIGTERM');
      const [status, signal] = await end;
      clearTimeout(force);
      killStore(directory);
      // By the signal if it had not yet begun to handle it.
      return status === 0 || signal === 'SIGTERM';
    },
  };
}

/** Ends the store of a killed gateway, which outlives it on purpose; one that ended has removed its file. */
function killStore(directory) {
  try {
    process.kill(Number(readFileSync(join(directory, 'data/redis/redis.pid'), 'utf8')), 'SIGKILL');
  } catch {
    // Without the file or the process there is nothing left to end.
  }
}
