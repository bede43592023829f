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
import { codeIn, Page, rowsOf } from './page.js';
import {
  callsOf,
  codeOf,
  ERROR_CALL,
  LOG_CALL,
  messagesOf,
  sourcesIn,
  textsIn,
} from './program-texts.js';

const FAILED_START = /GatewayError\(\s*'start-failed',/g;

const FAULTS_PAGE = 'docs/reports/faults.md';
const page = new Page('docs/operate/troubleshooting.md');
const messages = new Page('docs/reference/messages.md');
const faults = new Page(FAULTS_PAGE);
const shown = codeIn(
  [page, messages, faults].map(({ text }) => text.replaceAll(/\s+/g, ' ')).join('\n'),
);

/** The text with anything in place of the placeholders. */
function patternOf(text: string): RegExp {
  const parts = text.split(/…+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('.+?'));
}

/** The texts that no page has. */
function missing(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => !shown.some((code) => patternOf(text).test(code)));
}

function linesOf(call: RegExp): string[] {
  return sourcesIn('src').flatMap((path) => callsOf(codeOf(path), call).flatMap(messagesOf));
}

describe('troubleshooting', () => {
  it('has every error of the log, and no line that the program does not write', () => {
    const errors = linesOf(ERROR_CALL);
    expect(errors.length).toBeGreaterThan(30);
    expect(missing(errors)).toEqual([]);
    // The only line that is not written through the log.
    const [, lost = ''] = /msg: '([^']+)'/.exec(codeOf('src/logging/log.ts')) ?? [];
    expect(shown).toContain(lost);
    const rows = rowsOf(messages.section('Log lines'));
    const documented = rows.flatMap(([line = '']) => codeIn(line));
    const written = [...linesOf(LOG_CALL), lost];
    const unwritten = documented.filter(
      (line) => !written.some((text) => patternOf(text).test(line)),
    );
    expect(unwritten).toEqual([]);
  });

  it('has every reason of a failed start', () => {
    const texts = sourcesIn('src').flatMap((path) =>
      callsOf(codeOf(path), FAILED_START).flatMap(textsIn),
    );
    expect(texts.length).toBeGreaterThan(10);
    expect(missing(texts)).toEqual([]);
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
    const ofStart = ['invalid-config', 'start-failed'];
    const codes = Object.keys(ERRORS).filter((code) => !ofStart.includes(code));
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
