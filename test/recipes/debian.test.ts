/**
 * The Debian package, installed below an empty directory by the real dpkg: what it contains, that it starts from there,
 * and what an update, a removal and a purge leave. Programs that change the machine are replaced by ones that write down
 * their calls.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { claimPort, Program } from '../harness/program.js';

const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const NAME = 'care-home-gateway';
const UNIT = `${NAME}.service`;
const CONFIGURATION = `etc/${NAME}/gateway.yaml`;
const DATA = `var/lib/${NAME}`;
/** Programs that would change the machine of the test. */
const RECORDED = [
  'adduser',
  'chgrp',
  'install',
  'systemctl',
  'deb-systemd-helper',
  'deb-systemd-invoke',
];

let directory: string;
let file: string;
let newer: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-debian-'));
  const made = execFileSync(process.execPath, ['scripts/package.mjs', directory]).toString();
  file = join(directory, made.split('\n').find((name) => name.endsWith('.deb')) ?? '');
  newer = join(directory, 'newer.deb');
  const contents = join(directory, 'newer');
  execFileSync('dpkg-deb', ['--raw-extract', file, contents]);
  const control = join(contents, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(`: ${version}\n`, ': 1000.0.0\n'));
  appendFileSync(join(contents, CONFIGURATION), '# a new key\n');
  writeFileSync(join(contents, 'usr/lib', NAME, 'new'), '');
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', contents, newer]);
}, 120_000);
afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** What dpkg-deb prints of the package. */
function about(option: string): string {
  return execFileSync('dpkg-deb', [option, file], { encoding: 'utf8' });
}

it('needs a Node.js and a store that the gateway runs on', () => {
  expect(file).toMatch(new RegExp(`/${NAME}_${version}_all\\.deb$`));
  const info = about('--info');
  expect(info).toContain(` Version: ${version}\n`);
  expect(info).toContain(' Depends: adduser, nodejs (>= 20.19), redis-server | valkey-server\n');
});

it('contains what runs, readable for the service, and neither tests nor sources', () => {
  const entries = about('--contents').trim().split('\n');
  const modes = new Map(
    entries.map((line) => [line.slice(line.indexOf('./') + 2), line.split(' ', 1)[0]]),
  );
  expect(entries.every((line) => line.includes(' root/root '))).toBe(true);
  expect(modes.get(`usr/bin/${NAME}`)).toBe('-rwxr-xr-x');
  expect(modes.get(`usr/lib/${NAME}/dist/main.js`)).toBe('-rw-r--r--');
  expect(modes.get(`usr/lib/${NAME}/`)).toBe('drwxr-xr-x');
  expect(modes.get(CONFIGURATION)).toBe('-rw-r-----');
  expect(modes.get(`usr/lib/systemd/system/${UNIT}`)).toBe('-rw-r--r--');
  expect(modes.has(`usr/lib/${NAME}/docs/operate/install.md`)).toBe(true);
  const names = [...modes.keys()].join('\n');
  expect(names).not.toMatch(/\.map$|node_modules|\/(?:test|src|scripts)\//m);
});

describe('below an empty directory', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(directory, 'root-'));
    for (const path of ['var/lib/dpkg', 'run/systemd/system', 'programs']) {
      mkdirSync(join(root, path), { recursive: true });
    }
    writeFileSync(join(root, 'var/lib/dpkg/status'), '');
    for (const name of RECORDED) {
      const script = `#!/bin/sh\necho ${name} "$@" | sed "s#${root}##g" >> ${root}/calls\n`;
      writeFileSync(join(root, 'programs', name), script, { mode: 0o755 });
    }
  });

  /** Runs dpkg below the directory; returns what it and the scripts of the package printed and called. */
  function dpkg(...args: string[]): { readonly said: string; readonly calls: string } {
    // The rest of a Debian is not there.
    const forced = '--force-depends,script-chrootless,not-root,bad-path,confold';
    const run = spawnSync('dpkg', [`--root=${root}`, forced, ...args], {
      env: { PATH: `${join(root, 'programs')}:${process.env['PATH']}:/usr/sbin:/sbin` },
      encoding: 'utf8',
    });
    expect([run.stderr, run.status]).toEqual([expect.any(String), 0]);
    const log = join(root, 'calls');
    const calls = existsSync(log) ? readFileSync(log, 'utf8') : '';
    rmSync(log, { force: true });
    return { said: run.stdout, calls };
  }

  it('makes its user, enables its service and starts it', () => {
    const { calls } = dpkg('--install', file);
    expect(calls).toBe(
      [
        `adduser --system --group --quiet --no-create-home --home /${DATA} ${NAME}`,
        `chgrp ${NAME} /${CONFIGURATION}`,
        `install -d -m 700 -o ${NAME} -g ${NAME} /${DATA}`,
        `deb-systemd-helper unmask ${UNIT}`,
        `deb-systemd-helper --quiet was-enabled ${UNIT}`,
        `deb-systemd-helper enable ${UNIT}`,
        'systemctl --system daemon-reload',
        `deb-systemd-invoke restart ${UNIT}`,
        '',
      ].join('\n'),
    );
    const unit = readFileSync(join(root, 'usr/lib/systemd/system', UNIT), 'utf8');
    const [, program = '', configuration = ''] =
      /^ExecStart=\/usr\/bin\/node (\S+) --config (\S+)$/m.exec(unit) ?? [];
    for (const path of [program, configuration]) expect(existsSync(join(root, path))).toBe(true);
    expect(unit).not.toContain('/opt/');
  });

  it('starts by its command, with the installed configuration, and has the other commands', async () => {
    dpkg('--install', file);
    const command = join(root, 'usr/bin', NAME);
    const env = {
      PATH: process.env['PATH'] ?? '',
      GATEWAY_CONFIG: join(root, CONFIGURATION),
      GATEWAY_DATA_DIR: join(root, DATA),
      GATEWAY_HTTP_PORT: String(await claimPort()),
      GATEWAY_MQTT_PORT: String(await claimPort()),
    };
    const run = (...args: string[]) => execFileSync(command, args, { env, encoding: 'utf8' });
    expect(run('--version')).toBe(`${version}\n`);
    expect(run('check-config')).toBe('the configuration is valid\n');
    const gateway = new Program({ env, cwd: directory });
    onTestFinished(() => gateway.kill());
    await gateway.ready('"msg":"gateway ready"', command, []);
    const answer = await fetch(`http://127.0.0.1:${env.GATEWAY_HTTP_PORT}/readyz`);
    expect(await answer.json()).toMatchObject({ ready: true, version });
    expect(existsSync(join(root, DATA, 'admin.token'))).toBe(true);
    expect(await gateway.stop()).toBe(0);
  });

  it('keeps the configuration and the data in an update, and restarts the gateway', () => {
    dpkg('--install', file);
    writeFileSync(join(root, CONFIGURATION), 'site: mine\n');
    mkdirSync(join(root, DATA));
    writeFileSync(join(root, DATA, 'admin.token'), 'secret');
    const { calls } = dpkg('--install', newer);
    expect(readFileSync(join(root, CONFIGURATION), 'utf8')).toBe('site: mine\n');
    expect(statSync(join(root, CONFIGURATION)).mode & 0o777).toBe(0o640);
    expect(existsSync(join(root, 'usr/lib', NAME, 'new'))).toBe(true);
    expect(readFileSync(join(root, DATA, 'admin.token'), 'utf8')).toBe('secret');
    expect(calls).toContain(`deb-systemd-invoke restart ${UNIT}\n`);
    expect(calls).not.toContain('deb-systemd-invoke stop');
  });

  it('stops the gateway when it is removed, and keeps the data even when purged, and says so', () => {
    dpkg('--install', file);
    writeFileSync(join(root, CONFIGURATION), 'site: mine\n');
    mkdirSync(join(root, DATA));
    writeFileSync(join(root, DATA, 'admin.token'), 'secret');
    const removed = dpkg('--remove', NAME);
    expect(removed.calls).toContain(`deb-systemd-invoke stop ${UNIT}\n`);
    expect(removed.said).toContain(`stays in /${DATA}`);
    expect(existsSync(join(root, 'usr/lib', NAME))).toBe(false);
    expect(readFileSync(join(root, CONFIGURATION), 'utf8')).toBe('site: mine\n');
    const purged = dpkg('--purge', NAME);
    expect(purged.calls).toContain(`deb-systemd-helper purge ${UNIT}\n`);
    expect(purged.said).toContain(`stays in /${DATA}`);
    expect(existsSync(join(root, CONFIGURATION))).toBe(false);
    expect(readFileSync(join(root, DATA, 'admin.token'), 'utf8')).toBe('secret');
  });
});

it('is left out, with a word, where dpkg-deb is missing', () => {
  const programs = join(directory, 'without');
  mkdirSync(programs);
  for (const name of ['npm', 'node', 'tar', 'gzip', 'sh']) {
    const path = execFileSync('which', [name], { encoding: 'utf8' }).trim();
    execFileSync('ln', ['-s', path, join(programs, name)]);
  }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/package.mjs', mkdtempSync(join(directory, 'npm-only-'))],
    { env: { PATH: programs, HOME: directory }, encoding: 'utf8' },
  );
  expect([status, stdout]).toEqual([0, `${NAME}-${version}.tgz\n`]);
  expect(stderr).toContain('package: no Debian package');
});
