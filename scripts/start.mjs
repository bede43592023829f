// npm start: runs the gateway until it is told to stop. Ctrl-C reaches npm and this program, npm passes its signals on,
// and a supervisor may send one twice: the gateway gets the first only, for a second one ends it at once, without its
// store. On a terminal people read what matters; a pipe gets the log as it is, in JSON.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = join(import.meta.dirname, '../dist/main.js');
const WARNING = 40;
const SIGNAL_STATUS = 128;

const isForPeople = process.stdout.isTTY === true;
const gateway = spawn(
  process.execPath,
  ['--max-semi-space-size=8', PROGRAM, ...process.argv.slice(2)],
  {
    // The channel tells the gateway when this program was killed.
    stdio: ['ignore', isForPeople ? 'pipe' : 'inherit', 'inherit', 'ipc'],
    // Its own group, which Ctrl-C does not reach.
    detached: true,
  },
);

let isStopping = false;
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, stop);
process.on('SIGHUP', () => (isTerminalGone() ? stop() : gateway.kill('SIGHUP')));
// The terminal may be gone.
process.stdout.on('error', stop);
if (isForPeople) createInterface({ input: gateway.stdout }).on('line', tell);
gateway.once('close', (status, signal) => {
  process.exit(status ?? SIGNAL_STATUS + (constants.signals[signal] ?? 0));
});

function stop() {
  if (isStopping) return;
  isStopping = true;
  gateway.kill('SIGTERM');
}

function isTerminalGone() {
  if (!isForPeople) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}

/** Shows a line of the log: where the gateway is, once it is ready, and afterwards what is wrong. */
function tell(line) {
  const { level, time, msg, console: url, adminTokenFile, addresses, reason } = JSON.parse(line);
  if (msg === 'gateway ready') return process.stdout.write(welcome(url, adminTokenFile, addresses));
  const isOfLife = ['gateway standing by', 'gateway stopping', 'gateway stopped'].includes(msg);
  if (level < WARNING && !isOfLife) return undefined;
  const clock = new Date(time).toLocaleTimeString('en-GB');
  return process.stdout.write(`${clock}  ${msg}${reason === undefined ? '' : ` (${reason})`}\n`);
}

function welcome(url, tokenFile, { mqtt }) {
  const near = relative(process.cwd(), tokenFile ?? '');
  const token =
    tokenFile === undefined
      ? 'the one in your configuration (adminToken)'
      : `in the file ${near.startsWith('..') ? tokenFile : near}`;
  return `
The gateway is ready.

  Console         ${url}
  Sign in with    the administrator's token: ${token}
  Interface       ${url}docs
  MQTT            ${mqtt.address}:${mqtt.port}

From now on warnings are shown here. node dist/main.js prints the whole log, as JSON. Ctrl-C stops the gateway.

`;
}
