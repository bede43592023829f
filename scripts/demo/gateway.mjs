import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = join(import.meta.dirname, '../../dist/main.js');

/** Starts the real gateway in its own process, with its log and data in the directory. */
export function spawnGateway(directory) {
  const log = openSync(join(directory, 'gateway.log'), 'a', 0o600);
  const config = join(directory, 'gateway.yaml');
  // Its own file, so that it does not read the sample, which may have been edited.
  writeFileSync(config, 'dataDir: data\nmqtt:\n  port: 0\nhttp:\n  port: 0\n');
  const child = spawn(process.execPath, [PROGRAM, '--config', config], {
    cwd: directory,
    // Without the settings of a real gateway, which may name its store.
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', log],
    // Its own group: Ctrl-C in the terminal is for the demo, which stops the gateway last.
    detached: true,
  });
  let lastWords = '';
  const started = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      writeSync(log, `${line}\n`);
      const { level, msg, addresses } = JSON.parse(line);
      if (level === 60) lastWords = `: ${msg}`;
      if (msg === 'gateway ready') resolve(addresses);
    });
  });
  const end = once(child, 'exit');
  const ended = end.then(([status, signal]) => {
    throw new Error(`the gateway ended with ${signal ?? `status ${status}`}${lastWords}`);
  });
  return {
    /** Rejects when the gateway has ended. */
    ended,
    /** Resolves to the gateway's ports and its administrator's token. */
    async ready() {
      const { mqtt, http } = await Promise.race([started, ended]);
      const adminToken = readFileSync(join(directory, 'data/admin.token'), 'utf8').trim();
      return { mqttPort: mqtt.port, httpUrl: `http://127.0.0.1:${http.port}`, adminToken };
    },
    /** Ends the gateway, which takes at most ten seconds; rejects if it does not end cleanly. */
    async stop() {
      child.kill('SIGTERM');
      const [status, signal] = await end;
      try {
        // The store of a killed gateway outlives it on purpose; a store that ended has removed its file.
        process.kill(readFileSync(join(directory, 'data/redis/redis.pid'), 'utf8'), 'SIGKILL');
      } catch {
        // Without the file or the process there is nothing left to end.
      }
      // The signal itself ends the gateway if it does not handle it yet.
      if (status !== 0 && signal !== 'SIGTERM') await ended;
    },
  };
}
