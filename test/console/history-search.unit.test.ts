import { expect, it } from 'vitest';
import { alarmOfMessage } from '../../src/console/pages/board/open-alarm.js';
import { isFound, parseSearch } from '../../src/console/pages/history/history-search.js';

const AT = '2026-01-02T03:04:05.000Z';

/** A new alarm as a subscriber gets it. */
function alarm() {
  const found = alarmOfMessage(
    {
      topic: 'care-homes/home/devices/bed/alarms/fall',
      retained: false,
      isRecorded: true,
      payload: {
        id: 'a',
        kind: 'fall',
        detectedAt: AT,
        receivedAt: AT,
        test: true,
        device: { id: 'bed', name: 'Bed' },
        location: { id: 'home', name: 'Home' },
        room: { id: 'room', name: 'Room' },
        group: null,
        customData: {},
      },
    },
    Date.parse(AT),
  );
  if (found === undefined) throw new Error('no alarm');
  return found;
}

it.each([
  ['', true],
  ['room=room&device=bed&kinds=noise,fall&state=raised', true],
  ['room=other', false],
  ['device=other', false],
  ['kinds=noise', false],
  ['state=resolved', false],
  ['test=false', false],
  [`from=${AT}`, true],
  [`to=${AT}`, false],
  ['to=2026-01-02T03:04:05.001Z', true],
  ['from=2026-01-02T03:04:05.001Z', false],
])('a search with "%s" finds a new alarm: %s', (query, expected) => {
  const search = parseSearch(new URLSearchParams(`location=home&${query}`));
  expect(isFound(search, alarm())).toBe(expected);
  expect(isFound({ ...search, locationId: 'elsewhere' }, alarm())).toBe(false);
});
