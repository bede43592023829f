import { expect, it } from 'vitest';
import { ReceivedIdentifiers } from '../../../src/delivery/sessions/received-identifiers.js';

it('a repetition waits for the first publish, and does not count as another', () => {
  const received = new ReceivedIdentifiers([]);
  const answers: string[] = [];
  const add = (name: string) =>
    received.add(7, false, (isStored) => answers.push(`${name} ${isStored}`));
  expect([add('first'), add('second'), add('third')]).toEqual([true, false, false]);
  expect(answers).toEqual([]);
  received.resolve(7, true);
  expect(answers).toEqual(['first true', 'second true', 'third true']);
  expect([add('late'), answers.at(-1)]).toEqual([false, 'late true']);
});

it('a publish counts as the first again when it could not be stored', () => {
  const received = new ReceivedIdentifiers([]);
  const answers: boolean[] = [];
  received.add(7, false, (isStored) => answers.push(isStored));
  received.add(7, false, (isStored) => answers.push(isStored));
  received.resolve(7, false);
  expect(answers).toEqual([false, false]);
  expect(received.add(7, false, () => undefined)).toBe(true);
});

it('an identifier is free for another publish once released, even after a restart', () => {
  const received = new ReceivedIdentifiers([3]);
  expect(received.add(3, true, () => undefined)).toBe(false);
  received.release(3);
  expect(received.add(3, true, () => undefined)).toBe(true);
  received.resolve(3, true);
  received.release(3);
  expect(received.add(3, true, () => undefined)).toBe(true);
});

it('an identifier from before the restart is free when the publish cannot be a repetition', () => {
  const received = new ReceivedIdentifiers([3]);
  const answers: boolean[] = [];
  expect(received.add(3, false, (isStored) => answers.push(isStored))).toBe(true);
  expect(answers).toEqual([]);
  received.resolve(3, true);
  expect(answers).toEqual([true]);
  expect(received.add(3, false, () => undefined)).toBe(false);
});
