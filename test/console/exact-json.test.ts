import { expect, it } from 'vitest';
import { z } from 'zod';
import { exactJson, parseExactJson, plainText } from '../../src/console/api/exact-json.js';

it.each([
  '{"n":9007199254740993}',
  '[1.10,-0,1e400,1E5,0.1,-12]',
  '{"9":"say \\"1.10\\" or \\\\","n":[{"m":12345678901234567890}]}',
])('writes %s exactly as it was read', (text) => {
  expect(exactJson(parseExactJson(text))).toBe(text);
});

it('leaves all other values as JavaScript parses them', () => {
  const value = { text: '1.10', number: 7, list: [0.5, true, null] };
  expect(parseExactJson(JSON.stringify(value))).toEqual(value);
});

it('shows a number without quotes', () => {
  const values = z.array(z.string()).parse(parseExactJson('[9007199254740993,"9007199254740993"]'));
  expect(values.map(plainText)).toEqual(Array(2).fill('9007199254740993'));
});
