import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/domain/faults/fault-kind.js';
import { FAULT_CODES, FAULTS } from '../../src/domain/faults/fault-table.js';
import { fault, faultWords, firstOf } from '../../src/domain/faults/faults.js';

describe('the table of faults', () => {
  it('has the same values in every language, and full sentences', () => {
    for (const kind of Object.values(FAULTS)) {
      for (const language of LANGUAGES) {
        const { message, advice } = kind[language];
        expect(slotsOf(message)).toEqual(slotsOf(kind.en.message));
        expect([message, advice]).toEqual([
          expect.stringMatching(/^[A-ZÄÖÜ].*\.$/s),
          expect.stringMatching(/^[A-ZÄÖÜ`].*\.$/s),
        ]);
      }
    }
  });

  it('has codes in kebab-case, including those of the contract', () => {
    expect(FAULT_CODES.filter((code) => !/^[a-z]+(-[a-z]+)*$/.test(code))).toEqual([]);
    const promised =
      'store-unreachable store-full store-lost-data account-broken disk-nearly-full clock-jumped certificate-expiring bridge-down output-failing consumer-lagging limit-exceeded device-silent drill-failed';
    expect(FAULT_CODES).toEqual(expect.arrayContaining(promised.split(' ')));
  });
});

describe('the words of a fault', () => {
  it('include its values, in the requested language', () => {
    const limit = { en: '50 messages a second', de: '50 Nachrichten je Sekunde' };
    const slowed = fault('deviceSlowed', { limit });
    expect(faultWords(slowed, 'en').message).toBe(
      'A device is slowed to its limit of 50 messages a second.',
    );
    expect(faultWords(slowed, 'de').message).toBe(
      'Ein Gerät wird auf seine Grenze von 50 Nachrichten je Sekunde gebremst.',
    );
  });

  it('state how many others a fault stands for', () => {
    const subject = { type: 'device', id: '1', name: 'Bed' } as const;
    const { faults, others } = firstOf([1, 2, 3, 4, 5], () => {
      return { ...fault('deviceSilent'), subject };
    });
    expect(faults).toHaveLength(3);
    expect(others?.subject).toBeUndefined();
    expect(others && faultWords(others, 'en').message).toBe(
      'A device is silent: nothing comes from it any more (2 more).',
    );
    expect(others && faultWords(others, 'de').message).toBe(
      'Ein Gerät ist verstummt: Von ihm kommt nichts mehr (2 weitere).',
    );
    expect(firstOf([1, 2, 3], () => fault('deviceSilent')).others).toBeUndefined();
  });
});

function slotsOf(message: string): string[] {
  return (message.match(/\{\w+\}/g) ?? []).sort();
}
