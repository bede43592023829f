// Makes a fresh checkout ready to run: installs what is missing, builds what is out of date, and prints
// nothing when there is nothing to do (CONTRACT 1, first and second command). Runs before npm start,
// npm run demo and npm test; with --for-tests it also installs the programs that only the tests need.
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MIN_NODE = [20, 19];
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const forTests = process.argv.includes('--for-tests');

/** Programs, with the Debian package of each and a check whether it is installed. */
const STORE = {
  package: 'redis-server',
  isThere: () => isInstalled('redis-server') || isInstalled('valkey-server'),
};
const TEST_PROGRAMS = [
  { package: 'mosquitto', isThere: () => isInstalled('mosquitto') },
  {
    package: 'chromium-headless-shell',
    isThere: () => isInstalled('chromium-headless-shell'),
  },
  { package: 'openssl', isThere: () => isInstalled('openssl') },
  { package: 'mosquitto-clients', isThere: () => isInstalled('mosquitto_pub') },
  { package: 'keepalived', isThere: () => isInstalled('keepalived') },
  { package: 'jq', isThere: () => isInstalled('jq') },
  {
    package: 'python3-paho-mqtt',
    isThere: () => succeeds('/usr/bin/python3', ['-c', 'import paho.mqtt.client']),
  },
];

requireNode();
installPackages();
installPrograms();
build();

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])) return;
  fail(`Node.js ${MIN_NODE.join('.')} or later is needed; this is ${process.versions.node}`);
}

function installPackages() {
  const lock = modifiedMs(join(root, 'package-lock.json'));
  if (modifiedMs(join(root, 'node_modules', '.package-lock.json')) >= lock) return;
  say('installing the npm packages');
  // The build needs the development packages, whatever NODE_ENV.
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund']);
}

function installPrograms() {
  const needsStore = forTests || !process.env.GATEWAY_REDIS_URL;
  const needed = [...(needsStore ? [STORE] : []), ...(forTests ? TEST_PROGRAMS : [])];
  const missing = needed.filter((program) => !program.isThere()).map((program) => program.package);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) failMissing(missing);
  say(`installing ${missing.join(', ')} with apt-get`);
  // Run level 1, because the gateway and the tests run these programs, not a service manager.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  run('apt-get', ['update', '-qq'], env);
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], env);
  disableServices(missing);
  const stillMissing = needed.filter((program) => !program.isThere());
  if (stillMissing.length > 0) failMissing(stillMissing.map((program) => program.package));
}

/** Disables services: systemd ignores the run level and starts the services of new packages. */
function disableServices(packages) {
  if (!existsSync('/run/systemd/system')) return;
  for (const service of ['redis-server', 'mosquitto', 'keepalived'].filter((name) =>
    packages.includes(name),
  )) {
    spawnSync('systemctl', ['disable', '--quiet', '--now', service], { stdio: 'ignore' });
  }
}

function failMissing(packages) {
  fail(`missing: ${packages.join(', ')} (Debian: apt-get install ${packages.join(' ')})`);
}

function build() {
  // The stamp is written after a complete build and dated before it: a build that failed halfway and
  // a file changed during the build both count as out of date.
  const stamp = join(root, 'dist', '.built');
  const files = ['package-lock.json', 'tsconfig.json'].map((name) => modifiedMs(join(root, name)));
  const directories = ['src', 'scripts'].map((name) => newestMs(join(root, name)));
  if (modifiedMs(stamp) >= Math.max(...files, ...directories)) return;
  say('building');
  const begun = new Date();
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
  writeFileSync(stamp, '');
  utimesSync(stamp, begun, begun);
}

/** The newest change in a directory; removing a file changes its directory. */
function newestMs(directory) {
  const inside = readdirSync(directory, { withFileTypes: true }).map((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? newestMs(path) : modifiedMs(path);
  });
  return Math.max(modifiedMs(directory), ...inside);
}

/** The time of the last change; minus infinity if the file is missing. */
function modifiedMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

function isInstalled(program) {
  // Debian keeps mosquitto in /usr/sbin, which is not on an ordinary user's PATH.
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function succeeds(program, args) {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

function run(program, args, env = process.env) {
  const { status, error } = spawnSync(program, args, { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail(`${[program, ...args].join(' ')} failed${error ? `: ${error.code}` : ''}`);
}

function say(text) {
  console.error(`prepare: ${text}`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
