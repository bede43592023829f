import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bridgedTopic,
  parseBridgedCommand,
  parseBridgeTopic,
  selectedFilters,
} from '../../src/domain/bridge-topics.js';
import { matchesFilter } from '../former/clients/matches-filter.js';

const LOCATION = '0d4c4a5e-58a3-4b3c-9a0c-0f3c8f1f0001';
const DEVICE = '0d4c4a5e-58a3-4b3c-9a0c-0f3c8f1f0002';
const ALARM = `care-homes/${LOCATION}/devices/${DEVICE}/alarms/fall`;
const MESSAGE = `care-homes/${LOCATION}/devices/${DEVICE}/battery/level`;

function render(template: string, topic: string): string | undefined {
  const parsed = parseBridgeTopic(template);
  return parsed && bridgedTopic(parsed, topic);
}

describe('the upstream topic', () => {
  it.each([
    ['{topic}', ALARM, ALARM],
    ['home/{topic}', ALARM, `home/${ALARM}`],
    ['{locationId}/{deviceId}/{kind}', ALARM, `${LOCATION}/${DEVICE}/fall`],
    ['{deviceId}/{kind}', MESSAGE, `${DEVICE}/battery/level`],
    ['alarms', ALARM, 'alarms'],
  ])('%s', (template, topic, expected) => {
    expect(render(template, topic)).toBe(expected);
  });

  it.each(['', 'a/+', 'a/#', '{room}', '{topic', 'topic}', 'a\u0000'])('is not %j', (template) => {
    expect(parseBridgeTopic(template)).toBeUndefined();
  });
});

describe('the filters of a selection', () => {
  it.each([
    [{ send: 'all' as const }, ['care-homes/+/devices/+/#']],
    [{ send: 'alarms' as const }, ['care-homes/+/devices/+/alarms/+']],
    [
      { send: 'alarms' as const, locations: [LOCATION], kinds: ['fall', 'noise'] as const },
      [
        `care-homes/${LOCATION}/devices/+/alarms/fall`,
        `care-homes/${LOCATION}/devices/+/alarms/noise`,
      ],
    ],
    [{ send: 'alarms' as const, filters: ['#'] }, ['care-homes/+/devices/+/alarms/+']],
    [
      { send: 'all' as const, filters: ['+/+/devices/+/status', `care-homes/${LOCATION}/#`] },
      ['care-homes/+/devices/+/status', `care-homes/${LOCATION}/devices/+/#`],
    ],
    [{ send: 'all' as const, filters: ['gateway/status'] }, []],
  ])('%j', (selection, filters) => {
    expect(selectedFilters(selection)).toEqual(filters);
  });

  it('match what both match, for any filter', () => {
    const level = fc.constantFrom('care-homes', 'devices', 'alarms', 'fall', 'a');
    const filterLevel = fc.oneof(level, fc.constant('+'));
    const filter = fc
      .tuple(fc.array(filterLevel, { minLength: 1, maxLength: 7 }), fc.boolean())
      .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/'));
    const topic = fc.array(level, { minLength: 1, maxLength: 7 }).map((levels) => levels.join('/'));
    const property = fc.property(filter, topic, (other, any) => {
      const [all = ''] = selectedFilters({ send: 'all' });
      const both = selectedFilters({ send: 'all', filters: [other] });
      expect(both.some((one) => matchesFilter(one, any))).toBe(
        matchesFilter(all, any) && matchesFilter(other, any),
      );
    });
    fc.assert(property, { numRuns: 5_000 });
  });
});

describe('a command from upstream', () => {
  it.each([
    [`devices/${DEVICE}/commands/led`, { locationId: undefined, deviceId: DEVICE, rest: 'led' }],
    [
      `region/care-homes/${LOCATION}/devices/${DEVICE}/commands/led/on`,
      { locationId: LOCATION, deviceId: DEVICE, rest: 'led/on' },
    ],
    [
      `x/devices/${DEVICE.toUpperCase()}/commands/led`,
      { locationId: undefined, deviceId: DEVICE, rest: 'led' },
    ],
  ])('%s', (topic, command) => {
    expect(parseBridgedCommand(topic)).toEqual(command);
  });

  it.each([
    `devices/${DEVICE}/commands/`,
    `devices/${DEVICE}/alarms`,
    'devices/7/commands/led',
    '',
  ])('is not %j', (topic) => {
    expect(parseBridgedCommand(topic)).toBeUndefined();
  });
});
