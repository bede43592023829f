// Creates the npm package and the Debian package from the build: `npm run package [-- DIRECTORY]`. The bundle contains
// everything that runs, so the npm package has no dependencies; package.json lists them under `dependencies` for tools
// that audit the checkout.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDebianPackage } from './debian.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [destination = '.'] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'gateway-package-'));
try {
  const whole = join(directory, pack(root, directory));
  execFileSync('tar', ['-xzf', whole, '-C', directory]);
  const unpacked = join(directory, 'package');
  const file = join(unpacked, 'package.json');
  const { dependencies, devDependencies, overrides, scripts, ...rest } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  writeFileSync(file, `${JSON.stringify(rest, null, 2)}\n`);
  process.stdout.write(`${pack(unpacked, resolve(destination))}\n`);
  if (spawnSync('dpkg-deb', ['--version']).status === 0) {
    const file = makeDebianPackage(unpacked, rest, directory, resolve(destination));
    process.stdout.write(`${file}\n`);
  } else {
    process.stderr.write('package: no Debian package, for the program dpkg-deb is missing\n');
  }
} finally {
  rmSync(directory, { recursive: true });
}

/** Packs a directory. Returns the file name. */
function pack(from, to) {
  const options = ['--ignore-scripts', '--silent', '--pack-destination', to];
  return execFileSync('npm', ['pack', ...options], { cwd: from, encoding: 'utf8' }).trim();
}
