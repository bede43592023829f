import { pino } from 'pino';
import { expect, it } from 'vitest';
import { QUOTA_CHECK_MS, QuotaWatch } from '../../src/site/access/quota-watch.js';
import { Health } from '../../src/site/health/health.js';
import { SiteModel } from '../../src/site/site-model.js';
import { faultTexts } from '../harness/described/fault-texts.js';

const CREATED = { order: 1, createdAtMs: 0 };
const [LOCATION, DEVICE, TOKEN] = ['l-1', 'd-1', 't-1'];

it('names the holders that exceed a quota by current name and by id', () => {
  const model = new SiteModel();
  const device = {
    id: DEVICE,
    locationId: LOCATION,
    roomId: null,
    name: 'Bett 1',
    ...CREATED,
    secretHash: '',
    customData: '{}',
    limits: {},
  };
  const token = { id: TOKEN, name: 'nurse call', grants: [], tokenHash: '', expiresAtMs: null };
  const location = { id: LOCATION, name: 'Haus am See', order: 1 };
  model.apply([
    { kind: 'location', before: undefined, after: location },
    { kind: 'device', before: undefined, after: device },
    {
      kind: 'access-token',
      before: undefined,
      after: { ...token, ...CREATED, isExpiryNoted: false },
    },
  ]);
  const health = new Health();
  const log = pino({ level: 'silent' });
  const watch = new QuotaWatch({ health, model, log, now: () => 0 });
  watch.exceeded('connections', `device:${DEVICE}`);
  watch.exceeded('subscriptions', `token:${TOKEN}`);
  watch.exceeded('retained', `location:${LOCATION}`);
  watch.exceeded('newcomers', 'address:2001:db8:0:1');
  expect(faultTexts(health.faults())).toEqual([
    expect.stringMatching(/: device Bett 1 \(d-1\)$/),
    expect.stringMatching(/: access token nurse call \(t-1\)$/),
    expect.stringMatching(/: location Haus am See \(l-1\)$/),
    expect.stringMatching(/: address 2001:db8:0:1$/),
  ]);
  model.apply([{ kind: 'device', before: device, after: { ...device, name: 'Bett 2' } }]);
  for (const id of ['d-2', 'd-3', 'd-4']) watch.exceeded('connections', `device:${id}`);
  const tooMany = 'Too many connections: further ones are refused';
  expect(
    faultTexts(health.faults())
      .filter((text) => text.startsWith(tooMany))
      .sort(),
  ).toEqual([
    `${tooMany} (1 more).`,
    ...['Bett 2 (d-1)', 'd-2', 'd-3'].map((name) => `${tooMany}: device ${name}`),
  ]);
});

it('reports a thousand simultaneous holders only a few times', () => {
  const health = new Health();
  let changes = 0;
  health.on('changed', () => changes++);
  const log = pino({ level: 'silent' });
  const watch = new QuotaWatch({ health, model: new SiteModel(), log, now: () => 0 });
  for (let host = 0; host < 1_000; host++) watch.exceeded('newcomers', `address:h${host}`);
  expect(changes).toBe(4);
  expect(faultTexts(health.faults())).toEqual([
    ...['h0', 'h1', 'h2'].map((host) => expect.stringMatching(`: address ${host}$`)),
    expect.stringMatching(/\(1 more\)\.$/),
  ]);
});

/** A watch on a clock that the test moves, and its log. */
function start() {
  const lines: string[] = [];
  const health = new Health();
  const log = pino({}, { write: (line: string) => lines.push(line) });
  let nowMs = 0;
  const watch = new QuotaWatch({ health, model: new SiteModel(), log, now: () => nowMs });
  const pass = (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; ) {
      nowMs = Math.min(endMs, nowMs + QUOTA_CHECK_MS);
      if (nowMs % QUOTA_CHECK_MS === 0) watch.check();
    }
  };
  return { watch, health, lines, pass };
}

it('logs a quota once a minute with the count, and ends the fault a minute after the last excess', () => {
  const { watch, health, lines, pass } = start();
  for (let times = 1; times <= 1_000; times++) watch.exceeded('footage', 'device:d-1');
  expect(lines).toHaveLength(1);
  pass(59_000);
  expect(lines).toHaveLength(1);
  pass(6_000);
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ quota: 'footage', count: 999 });
  expect(faultTexts(health.faults())).toEqual([]);
});

it('remembers 10,000 holders that exceed a quota', () => {
  const { watch, health, pass } = start();
  for (let device = 1; device <= 10_100; device++) watch.exceeded('retained', `device:${device}`);
  pass(5_000);
  expect(faultTexts(health.faults()).at(-1)).toMatch(/ \(9997 more\)\.$/);
  expect(watch.counts()).toEqual([['retained', 10_100]]);
});
