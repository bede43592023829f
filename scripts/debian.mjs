// The Debian package: the content of the npm package in /usr/lib, with a command, a configuration that an update keeps,
// and the service.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const NAME = 'care-home-gateway';
const PROGRAM = `usr/lib/${NAME}`;
const CONFIGURATION = `etc/${NAME}/gateway.yaml`;
const MAINTAINER = 'Maintainers of care-home-gateway <care-home-gateway@example.org>';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];

/**
 * Makes the package from the unpacked npm package, below a working directory, in the destination.
 *
 * @returns the file name
 */
export function makeDebianPackage(unpacked, { version, license }, work, destination) {
  // Before a release: 1.0.0~rc.1 is older than 1.0.0.
  const debianVersion = version.replace('-', '~');
  const root = join(work, 'debian');
  const at = (path) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  cpSync(unpacked, at(PROGRAM), { recursive: true });
  cpSync(join(unpacked, 'config/gateway.yaml'), at(CONFIGURATION));
  for (const name of readdirSync(join(unpacked, 'systemd')).filter(isUnit)) {
    const unit = readFileSync(join(unpacked, 'systemd', name), 'utf8');
    const text = unit.replaceAll(`/opt/${NAME}/`, `/${PROGRAM}/`);
    writeFileSync(at(`usr/lib/systemd/system/${name}`), text);
  }
  const scripts = join(import.meta.dirname, 'debian');
  cpSync(join(scripts, NAME), at(`usr/bin/${NAME}`));
  for (const name of SCRIPTS) cpSync(join(scripts, name), at(`DEBIAN/${name}`));
  writeFileSync(
    at(`usr/share/doc/${NAME}/copyright`),
    `Copyright (c) the contributors of ${NAME}\nLicense: ${license}, see /usr/share/common-licenses/Apache-2.0\nOf bundled packages: /${PROGRAM}/dist/third-party-licenses.txt\n`,
  );
  const date = new Date().toUTCString().replace('GMT', '+0000');
  const changes = `${NAME} (${debianVersion}) stable; urgency=medium\n\n  * /${PROGRAM}/CHANGELOG.md says what is new.\n\n -- ${MAINTAINER}  ${date}\n`;
  writeFileSync(at(`usr/share/doc/${NAME}/changelog.gz`), gzipSync(changes, { level: 9 }));
  for (const path of ['', ...readdirSync(root, { recursive: true })]) settle(join(root, path));
  // Secrets may stand in it.
  chmodSync(join(root, CONFIGURATION), 0o640);
  writeFileSync(at('DEBIAN/conffiles'), `/${CONFIGURATION}\n`);
  const control = {
    Package: NAME,
    Version: debianVersion,
    Architecture: 'all',
    Maintainer: MAINTAINER,
    'Installed-Size': Math.ceil(sizeOf(root) / 1024),
    Depends: 'adduser, nodejs (>= 20.19), redis-server | valkey-server',
    Section: 'net',
    Priority: 'optional',
    Description: `gateway between alarm sensors and nurse-call systems\n Forwards every alarm of a care home's sensors, and loses none. It runs a Redis\n of its own, and does not need the service of that package.`,
  };
  const fields = Object.entries(control).map(([field, value]) => `${field}: ${value}\n`);
  writeFileSync(at('DEBIAN/control'), fields.join(''));
  const file = `${NAME}_${debianVersion}_all.deb`;
  const options = ['--root-owner-group', '--build', root, join(destination, file)];
  execFileSync('dpkg-deb', options, { stdio: ['ignore', 'ignore', 'inherit'] });
  return file;
}

/** The user is made by the package, not by systemd. */
function isUnit(name) {
  return name.endsWith('.service');
}

/** Rights that do not depend on the umask of whoever makes the package. */
function settle(path) {
  const { mode } = statSync(path);
  chmodSync(path, mode & 0o100 ? 0o755 : 0o644);
}

/** The bytes of all files below a directory. */
function sizeOf(directory) {
  const sizes = readdirSync(directory, { recursive: true }).map((path) =>
    statSync(join(directory, path)),
  );
  return sizes.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}
