// npm run demo: a fictional care home whose sensors publish alarms to the real gateway, and a nurse-call
// system that receives them. It leaves nothing behind, except the gateway's log after a failure.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { openHome, spawnGateway } from './home.mjs';
import { show } from './show.mjs';

const USAGE = `usage: npm run demo [-- --alarms N]
Runs until Ctrl-C, or until N alarms (1 to 999999) have arrived; its status is 1 if one has not.
`;
const given = process.argv.slice(2).join(' ');
const options = /^(?:--alarms[ =]([1-9]\d{0,5}))?$/.exec(given);
if (options === null) {
  const isAsked = given === '--help';
  process[isAsked ? 'stdout' : 'stderr'].write(USAGE);
  process.exit(isAsked ? 0 : 2);
}
const print = (text) => process.stdout.write(text);
const alarms = Number(options[1] ?? Infinity);
const ending = new AbortController();
// Repeated signals change nothing: ending has its own timeouts, and must leave nothing running.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => ending.abort());
// The reader may be gone (`npm run demo | head`).
process.stdout.on('error', () => ending.abort());
const directory = mkdtempSync(join(tmpdir(), 'care-home-demo-'));
print('Starting the gateway and setting up a made-up care home …\n');
const gateway = spawnGateway(directory);
try {
  const lost = await Promise.race([run(), gateway.ended]).finally(gateway.stop);
  if (lost > 0) throw new Error(`alarms that did not arrive in time: ${lost}`);
  rmSync(directory, { recursive: true });
  process.exit(0);
} catch ({ message }) {
  const log = join(directory, 'gateway.log');
  process.stderr.write(`\nThe demo failed: ${message}\nThe gateway's log: ${log}\n`);
  process.exit(1);
}

/** Plays the home until the demo ends; resolves to the number of lost alarms. */
async function run() {
  const home = await openHome(await gateway.ready);
  if (ending.signal.aborted) return 0;
  const { mqttPort, id, token, filter } = home.nurseCall;
  const end = Number.isFinite(alarms) ? `Ends after alarm ${alarms}.` : 'Ctrl-C ends it.';
  const mosquittoSub = `mosquitto_sub -h 127.0.0.1 -p ${mqttPort} -q 1 -v \\
    -u ${id} \\
    -P ${token} \\
    -t '${filter}'`;
  print(`
The real gateway with a made-up care home, ${styleText('bold', home.name)}. ${end}
${styleText('bold', '→ published')}  one of its ${home.sensors.length} sensors sends an alarm to the gateway (MQTT, QoS 1)
${styleText('bold', '← forwarded')}  it is stored, and has reached the nurse-call system with customData

See the alarms on the board, in a browser; the link signs in:
  ${styleText('green', home.boardUrl)}

Be a second nurse-call system, in another terminal:
  ${styleText('green', mosquittoSub)}

`);
  return await show(home, alarms, print, ending.signal);
}
