import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FAILURES } from '../../src/bridge/connection-failure.js';
import { INVALID_PUBLISH_REASONS } from '../../src/domain/alarms.js';
import { FAULTS } from '../../src/domain/faults/fault-table.js';
import { ERRORS } from '../../src/errors.js';
import { DENIED_REASONS } from '../../src/site/access/connection-list.js';
import { codeIn, Page } from './page.js';
import {
  callsOf,
  codeOf,
  LOG_CALL,
  messagesOf,
  phrasesIn,
  sourcesIn,
  textsIn,
} from './program-texts.js';

const DEBUG_CALL = /\blog\.debug\(/g;

/** The files with the words of a denial, a connect error or a failed start. */
const SPEAKERS: readonly string[] = [
  ...['src/broker', 'src/bridge', 'src/config', 'src/mqtt'].flatMap(sourcesIn),
  'src/domain/field-faults.ts',
  'src/site/access/connection-list.ts',
  'src/store/failures.ts',
  ...sourcesIn('src').filter((path) => {
    const code = codeOf(path);
    return code.includes("GatewayError('start-failed'");
  }),
]
  .filter((path) => !path.startsWith('src/http/'))
  // Faults of a schema begin with `must`; its other texts describe keys.
  .filter((path) => !/^src\/config\/.*schema\.ts$/.test(path));

/** Texts that no one sees, or sees only as part of another text. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  // Between the parts of the program.
  'not acknowledged yet',
  'the gateway publishes wills',
  // Parts of texts.
  'private key',
  'unknown error',
  'one fault',
  'a whole number',
  'true or false',
  'a number',
  'a list',
  'an object with keys',
  'at least',
  'at most',
  // Said by the problem of an HTTP answer.
  'There is no such bridge.',
  'The bridge is in the configuration.',
]);

const FAULTS_PAGE = 'docs/reports/faults.md';
const page = new Page('docs/operate/troubleshooting.md');
const messages = new Page('docs/reference/messages.md');
const faults = new Page(FAULTS_PAGE);
const shown = codeIn(
  [page, messages, faults].map(({ text }) => text.replaceAll(/\s+/g, ' ')).join('\n'),
);

/** Whether one of the pages has the text, with anything in place of the placeholders. */
function isShown(text: string): boolean {
  const parts = text.split(/…+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const pattern = new RegExp(parts.join('.+?'));
  return shown.some((code) => pattern.test(code));
}

function missing(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => !isShown(text));
}

describe('troubleshooting', () => {
  it('has every log line except those for debugging', () => {
    const lines = sourcesIn('src').flatMap((path) =>
      callsOf(codeOf(path), LOG_CALL).flatMap(messagesOf),
    );
    expect(lines.length).toBeGreaterThan(100);
    expect(missing(lines)).toEqual([]);
    // The only line that is not written through the log.
    const [, lost = ''] = /msg: '([^']+)'/.exec(codeOf('src/logging/log.ts')) ?? [];
    expect(shown).toContain(lost);
  });

  it('has every text of a denial, a connect error and a failed start', () => {
    const texts = SPEAKERS.flatMap((path) => {
      const code = codeOf(path);
      const debug = callsOf(code, DEBUG_CALL).flatMap(textsIn);
      return phrasesIn(code).filter((text) => !debug.includes(text));
    });
    const said = texts.filter((text) => !text.startsWith('must '));
    expect(missing(said).filter((text) => !NOT_SHOWN.has(text))).toEqual([]);
    expect([...NOT_SHOWN].filter((text) => !texts.includes(text))).toEqual([]);
  });

  it('has the faults exactly as the program has them', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-faults-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'faults.md');
    await promisify(execFile)(process.execPath, ['scripts/faults.mjs', file]);
    expect(await readFile(file, 'utf8')).toBe(await readFile(FAULTS_PAGE, 'utf8'));
    for (const { en } of Object.values(FAULTS)) expect(faults.text).toContain(en.advice);
  });

  it('has every code of an HTTP problem', () => {
    const codes = Object.keys(ERRORS);
    expect(codes.length).toBeGreaterThan(30);
    expect(codes.filter((code) => !shown.includes(code))).toEqual([]);
  });

  it('has every code of a denial over MQTT and of a connect error', () => {
    const names = ['Connect errors', 'Connections that end', 'Denied over MQTT'];
    const sections = names.map((name) => messages.section(name));
    const codes = codeIn(sections.join('\n'));
    expect(Object.keys(DENIED_REASONS).filter((code) => !codes.includes(code))).toEqual([]);
  });

  it('has every reason of an invalid publish', () => {
    const reasons = codeIn(messages.section('Invalid publishes'));
    expect(INVALID_PUBLISH_REASONS.filter((reason) => !reasons.includes(reason))).toEqual([]);
  });

  it('docs/operate/bridges.md has every kind of failure of a bridge', () => {
    const kinds = codeIn(new Page('docs/operate/bridges.md').section('When the upstream fails'));
    expect(Object.keys(FAILURES).filter((kind) => !kinds.includes(kind))).toEqual([]);
  });
});

it('the reasons for a failed start follow the words of the log', () => {
  const [, words = ''] = /`(\w[\w ]+: )\$\{detail\}`\);\n\}/.exec(codeOf('src/main.ts')) ?? [];
  expect(words).not.toBe('');
  expect(page.section('It does not start')).toContain(`| after \`${words}\` |`);
});
