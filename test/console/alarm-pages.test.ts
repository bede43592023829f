import { expect, it, onTestFinished } from 'vitest';
import { defaults } from '../../src/console/api/generated.js';
import { readPage } from '../../src/console/pages/history/alarm-pages.js';

it('returns no page of a search that was abandoned while the answer was being read', async () => {
  const before = { ...defaults };
  onTestFinished(() => {
    Object.assign(defaults, before);
  });
  const stopping = new AbortController();
  defaults.fetch = async () => {
    stopping.abort();
    return Response.json({ nextCursor: null, events: [] });
  };
  const search = {
    locationId: 'l',
    roomId: '',
    deviceId: '',
    kinds: [],
    states: [],
    isWithoutTests: false,
    fromMs: undefined,
    toMs: undefined,
  };
  await expect(readPage(search, undefined, stopping.signal)).rejects.toThrow(/abort/i);
});
