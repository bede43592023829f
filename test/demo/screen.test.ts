import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CARE_HOME } from '../../src/demo/care-home.js';
import {
  counted,
  duration,
  forwardedLine,
  heading,
  publishedLine,
  summary,
  wantsColour,
} from '../../src/demo/screen.js';

const DEVICE_ID = '663e5d0c-0f6f-4c0e-8a3b-0d1c5e6f7a8b';
const row = { time: new Date(2026, 0, 2, 3, 4, 5), deviceName: 'Bed mat 101 A' };
const published = { ...row, topic: `devices/${DEVICE_ID}/alarms` };
const forwarded = {
  ...row,
  topic: `care-homes/${DEVICE_ID}/devices/${DEVICE_ID}/alarms/outOfBed`,
  customData: '{"room":"101"}',
  arrival: { tookMs: 4.21, waited: false },
};
const plain = { colour: false, width: undefined };

describe('the table', () => {
  it('aligns columns and shortens topics', () => {
    expect(publishedLine(plain, 'outOfBed', published)).toBe(
      `03:04:05  → published  outOfBed    Bed mat 101 A${' '.repeat(60)}devices/663e…/alarms\n`,
    );
    expect(forwardedLine(plain, 'outOfBed', forwarded)).toBe(
      `03:04:05  ← forwarded  outOfBed    Bed mat 101 A     4.2 ms  {"room":"101"}${' '.repeat(33)}` +
        'care-homes/663e…/devices/663e…/alarms/outOfBed\n',
    );
  });

  it.each([20, 60, 61, 79, 80, 99, 100, 140])('never wraps in %i columns', (width) => {
    for (const colour of [false, true]) {
      const line = forwardedLine({ colour, width }, 'outOfBed', forwarded);
      expect(stripVTControlCharacters(line).trimEnd().length).toBeLessThanOrEqual(width);
    }
  });

  it('has the same text with and without colour', () => {
    const coloured = forwardedLine({ colour: true, width: 100 }, 'fall', forwarded);
    expect(coloured).toContain('\u001b[31m');
    expect(stripVTControlCharacters(coloured)).toBe(
      forwardedLine({ colour: false, width: 100 }, 'fall', forwarded),
    );
  });

  it('has room for every device of the home', () => {
    for (const { name, customData } of CARE_HOME.devices) {
      const message = { ...forwarded, deviceName: name, customData: JSON.stringify(customData) };
      const line = forwardedLine(plain, 'inactivity', message);
      expect(line.indexOf('care-homes/')).toBe(108);
    }
  });
});

describe('the heading', () => {
  it('fits in 80 columns', () => {
    const facts = {
      locationName: CARE_HOME.name,
      deviceCount: 8,
      mqttPort: 41234,
      tokenId: DEVICE_ID,
      token: 't'.repeat(43),
      filter: `care-homes/${DEVICE_ID}/#`,
      alarms: undefined,
    };
    for (const line of heading({ colour: false, width: 80 }, facts).split('\n')) {
      expect(line.length).toBeLessThanOrEqual(80);
    }
  });
});

describe('the summary', () => {
  const totals = {
    published: 12,
    forwarded: 11,
    lost: 1,
    repeated: 2,
    waited: 4,
    medianMs: 3.14,
    maxMs: 25.2,
  };

  it('counts lost alarms', () => {
    expect(summary(plain, totals)).toBe(
      '\nAlarms:   12 published, 11 forwarded, 1 lost, 2 delivered again\n' +
        'Latency:  median 3.1 ms, maximum 25 ms (but for 4 that waited for the nurse-call system)\n',
    );
  });

  it('has no latency when nothing arrived', () => {
    const none = { ...totals, repeated: 0, medianMs: undefined, maxMs: undefined };
    expect(summary(plain, none)).toBe('\nAlarms:   12 published, 11 forwarded, 1 lost\n');
  });
});

describe('colour', () => {
  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, true],
    [{ FORCE_COLOR: '0' }, true, false],
  ])('%o in a terminal (%s): %s', (environment, isTerminal, expected) => {
    expect(wantsColour(environment, isTerminal)).toBe(expected);
  });
});

it('formats durations and counts', () => {
  expect([0.44, 9.94, 12.6, 999, 1000, 61_234].map(duration)).toEqual([
    '0.4 ms',
    '9.9 ms',
    '13 ms',
    '999 ms',
    '1.0 s',
    '61.2 s',
  ]);
  expect([counted(0, 'alarm'), counted(1, 'alarm')]).toEqual(['0 alarms', '1 alarm']);
});
