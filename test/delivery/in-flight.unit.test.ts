import { expect, it } from 'vitest';
import { InFlight } from '../../src/delivery/sending-window.js';

const MAX_MESSAGE_ID = 65_535;

it('packet identifiers start at a different number each time', () => {
  const first = Array.from({ length: 20 }, () => numbered().add(entry('a')).messageId);
  expect(new Set(first).size).toBeGreaterThan(10);
});

it('packet identifiers are valid in MQTT, and each is in use once', () => {
  const inFlight = numbered();
  const given = Array.from(
    { length: MAX_MESSAGE_ID },
    (_, n) => inFlight.add(entry(String(n))).messageId,
  );
  expect(new Set(given).size).toBe(MAX_MESSAGE_ID);
  expect(Math.min(...given.slice(0, 60_000), ...given.slice(60_000))).toBe(1);
  expect(inFlight.acknowledge(given[7] ?? 0)).toEqual(entry('7'));
  expect(inFlight.add(entry('another'))).toEqual({ messageId: given[7], isRepeated: false });
});

it('an entry keeps its packet identifier when it is resent after a broken connection', () => {
  const inFlight = numbered();
  const first = inFlight.add(entry('a'));
  const second = inFlight.add(entry('b'));
  expect(inFlight.add({ name: undefined }).isRepeated).toBe(false);
  inFlight.interrupt();
  expect(inFlight.size).toBe(0);
  expect(inFlight.acknowledge(first.messageId)).toBeUndefined();
  const others = Array.from({ length: MAX_MESSAGE_ID - 10 }, (_, n) =>
    inFlight.add(entry(`new ${n}`)),
  );
  const taken = others.map(({ messageId }) => messageId);
  expect(taken).not.toContain(first.messageId);
  expect(taken).not.toContain(second.messageId);
  expect(inFlight.add(entry('b'))).toEqual({ messageId: second.messageId, isRepeated: true });
  // The connection broke again before the first one was sent.
  inFlight.interrupt();
  expect(inFlight.add(entry('a'))).toEqual({ messageId: first.messageId, isRepeated: true });
});

it('an entry that expired while its connection was broken does not keep its packet identifier forever', () => {
  const inFlight = numbered();
  for (let n = 0; n < MAX_MESSAGE_ID; n++) inFlight.add(entry(`old ${n}`));
  inFlight.interrupt();
  expect(inFlight.add(entry('new')).isRepeated).toBe(false);
  expect(inFlight.size).toBe(1);
});

/** An entry that is sent again after a broken connection. */
function entry(name: string) {
  return { name };
}

function numbered() {
  return new InFlight<{ readonly name: string | undefined }>(({ name }) => name);
}
