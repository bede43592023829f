// npm run demo: a made-up care home, whose sensors publish alarms to the real gateway, and a nurse-call
// system that receives them. Nothing is left behind, except the gateway's log after a failure.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { spawnGateway } from './gateway.mjs';
import { openHome } from './home.mjs';
import { counted, paint } from './screen.mjs';
import { show } from './show.mjs';

const END_TIMEOUT_MS = 1_000;
const USAGE = `usage: npm run demo [-- --alarms N]

Shows the gateway at work: a made-up care home whose sensors publish alarms, and a nurse-call system
that receives them. Nothing needs to be prepared, and nothing is left behind. It prints a link to the
board, which shows the alarms in a browser.

  --alarms N   end by itself once N alarms have arrived: status 0, or 1 if one has not.
               Without it the demo runs until Ctrl-C
  --help       show this

Colour: only in a terminal; NO_COLOR=1 switches it off, FORCE_COLOR=1 on.
`;

const alarms = readAlarms();
const ending = new AbortController();
// Repeated signals change nothing: ending has its own timeouts, and must leave nothing running.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => ending.abort());
// The reader may be gone (`npm run demo | head`).
process.stdout.on('error', () => ending.abort());
const directory = mkdtempSync(join(tmpdir(), 'care-home-demo-'));
print('Starting the gateway and setting up a made-up care home …\n');
const gateway = spawnGateway(directory);
try {
  const lost = await Promise.race([run(), gateway.ended]);
  const isClean = await gateway.stop();
  if (lost > 0) throw new Error(`${counted(lost)} did not arrive in time`);
  if (!isClean) throw new Error('the gateway did not stop cleanly');
  rmSync(directory, { recursive: true });
  process.exit(0);
} catch (failure) {
  // A closed connection may be the end of the gateway, which says more.
  const end = gateway.ended.catch((reason) => reason);
  const error = await Promise.race([end, delay(END_TIMEOUT_MS, failure)]);
  await gateway.stop();
  process.stderr.write(`\nThe demo failed: ${error.message}\nThe gateway's log: ${gateway.log}\n`);
  process.exit(1);
}

/** Plays the home until the demo ends; resolves to the number of lost alarms. */
async function run() {
  const home = await openHome(await gateway.ready());
  if (ending.signal.aborted) return 0;
  print(introduction(home));
  return await show(home, alarms, print, ending.signal);
}

function introduction({ name, sensors, boardUrl, nurseCall: { mqttPort, id, token, filter } }) {
  const end = Number.isFinite(alarms) ? `Ends after ${counted(alarms)}.` : 'Ctrl-C ends it.';
  const command = `mosquitto_sub -h 127.0.0.1 -p ${mqttPort} -q 1 -v \\
    -u ${id} \\
    -P ${token} \\
    -t '${filter}'`;
  return `
The real gateway with a made-up care home, ${paint('bold', name)}. ${end}
${paint('bold', '→ published')}  one of its ${sensors.length} sensors sends an alarm to the gateway (MQTT, QoS 1)
${paint('bold', '← forwarded')}  it is stored, and has reached the nurse-call system with customData

See the alarms on the board, in a browser; the link signs in:
  ${paint('green', boardUrl)}

Be a second nurse-call system, in another terminal:
  ${paint('green', command)}

`;
}

/** The number of alarms to publish, without end if none is given; ends the program after other arguments. */
function readAlarms() {
  try {
    const options = { alarms: { type: 'string' }, help: { type: 'boolean', short: 'h' } };
    const { values } = parseArgs({ options });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    if (/^[1-9]\d{0,5}$/.test(values.alarms ?? '1')) return Number(values.alarms ?? Infinity);
    throw new TypeError('--alarms must be a whole number from 1 to 999999');
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(2);
  }
}

function print(text) {
  process.stdout.write(text);
}
