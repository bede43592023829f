import { expect, it } from 'vitest';
import { replyCode } from '../../src/delivery/log/reply-code.js';

const RUNNING = 'ERR Error running script (call to f_0a1b):';

/** The messages of a server of each version. */
const MESSAGES: readonly (readonly [string | undefined, string, string])[] = [
  ['OOM', '7', "OOM command not allowed when used memory > 'maxmemory'."],
  [
    'OOM',
    '7',
    "OOM command not allowed when used memory > 'maxmemory'. script: 0a, on @user_script:1.",
  ],
  ['OOM', '6.2', `${RUNNING} @user_script:17: @user_script: 17: -OOM command not allowed`],
  ['OOM', '6.2', '@user_script: 2: -OOM command not allowed when used memory'],
  [
    'MISCONF',
    '7',
    'MISCONF Errors writing to the AOF file: No space script: 0a, on @user_script:1.',
  ],
  ['MISCONF', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -MISCONF Errors writing`],
  ['READONLY', '6.2', `${RUNNING} @user_script:1: @user_script: 1: -READONLY You can't write`],
  ['WRONGTYPE', '7', 'WRONGTYPE Operation against a key script: 0a, on @user_script:1.'],
  ['WRONGTYPE', '6.2', `${RUNNING} @user_script:1: WRONGTYPE Operation against a key`],
  [
    'ERR',
    '7',
    'ERR user_script:1: Script attempted to access global script: 0a, on @user_script:1.',
  ],
  ['ERR', '6.2', `${RUNNING} @user_script:1: user_script:1: attempt to index a nil value`],
  ['ERR', '6.2', `${RUNNING} @user_script:1: @user_script: 1: Unknown Redis command called`],
  [undefined, 'no', 'Connection is closed.'],
  [undefined, 'no', 'connect ECONNREFUSED 127.0.0.1:6379'],
];

it.each(MESSAGES)('finds the code %s in what Redis %s says: %s', (code, _, message) => {
  expect(replyCode(new Error(message))).toBe(code);
});

it('finds no code in a value that is not an error', () => {
  expect(replyCode('OOM command not allowed')).toBeUndefined();
});
