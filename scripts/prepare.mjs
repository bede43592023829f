// Makes a fresh checkout ready to run: installs what is missing, builds what is out of date, and prints
// nothing when there is nothing to do (CONTRACT 1, first and second command). Runs before npm start,
// npm run demo and npm test; with --for-tests it also installs the programs that only the tests need.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MIN_NODE = [20, 19];
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isForTests = process.argv.includes('--for-tests');
const hasStore = !isForTests && process.env.GATEWAY_REDIS_URL;
/** Debian packages, each with a check whether it is installed. */
const NEEDED = {
  ...(!hasStore && { 'redis-server': () => isThere('redis-server') || isThere('valkey-server') }),
  ...(isForTests && {
    mosquitto: () => isThere('mosquitto'),
    'chromium-headless-shell': () => isThere('chromium-headless-shell'),
    openssl: () => isThere('openssl'),
    'mosquitto-clients': () => isThere('mosquitto_pub'),
    keepalived: () => isThere('keepalived'),
    jq: () => isThere('jq'),
    prometheus: () => isThere('promtool'),
    'python3-paho-mqtt': () =>
      spawnSync('/usr/bin/python3', ['-c', 'import paho.mqtt.client']).status === 0,
  }),
};
const SERVICES = ['redis-server', 'mosquitto', 'keepalived', 'prometheus'];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
  fail(`Node.js ${MIN_NODE.join('.')} or later is needed; this is ${process.versions.node}`);
}
installPackages();
installPrograms();
build();

function installPackages() {
  const lockMs = modifiedMs('package-lock.json');
  if (modifiedMs('node_modules/.package-lock.json') >= lockMs) return;
  say('installing the npm packages');
  // The build needs the development packages, whatever NODE_ENV.
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund']);
}

function installPrograms() {
  const missing = missingPackages();
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !isThere('apt-get')) failMissing(missing);
  say(`installing ${missing.join(', ')} with apt-get`);
  // Run level 1, because the gateway and the tests run these programs, not a service manager.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  run('apt-get', ['update', '-qq'], env);
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], env);
  // systemd ignores the run level, and starts the services of new packages.
  if (existsSync('/run/systemd/system')) {
    for (const service of SERVICES.filter((name) => missing.includes(name))) {
      spawnSync('systemctl', ['disable', '--quiet', '--now', service]);
    }
  }
  const stillMissing = missingPackages();
  if (stillMissing.length > 0) failMissing(stillMissing);
}

function missingPackages() {
  return Object.keys(NEEDED).filter((name) => !NEEDED[name]());
}

/** Whether the program is installed; Debian keeps mosquitto in /usr/sbin, which is not on an ordinary user's PATH. */
function isThere(program) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return directories.some((directory) => existsSync(join(directory, program)));
}

function build() {
  // The stamp is written after a complete build and dated before it: a build that failed halfway and
  // a file changed during the build both count as out of date.
  const stamp = 'dist/.built';
  const sources = ['package-lock.json', 'tsconfig.json', 'src', 'scripts'];
  if (modifiedMs(stamp) >= Math.max(...sources.map(newestMs))) return;
  say('building');
  const begun = new Date();
  run(process.execPath, [join(root, 'scripts', 'build.mjs')]);
  writeFileSync(join(root, stamp), '');
  utimesSync(join(root, stamp), begun, begun);
}

/** The newest change of a file, or in a directory; removing a file changes its directory. */
function newestMs(path) {
  const isDirectory = statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  const inside = isDirectory ? readdirSync(join(root, path)) : [];
  return Math.max(modifiedMs(path), ...inside.map((name) => newestMs(join(path, name))));
}

/** The time of the last change; minus infinity if the file is missing. */
function modifiedMs(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

function run(program, args, env = process.env) {
  const { status, error } = spawnSync(program, args, { cwd: root, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail(`${[program, ...args].join(' ')} failed${error ? `: ${error.code}` : ''}`);
}

function failMissing(packages) {
  fail(`missing: ${packages.join(', ')} (Debian: apt-get install ${packages.join(' ')})`);
}

function say(text) {
  console.error(`prepare: ${text}`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
