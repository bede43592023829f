import { describe, expect, it } from 'vitest';
import { Epochs, Interruptions } from '../../../tools/chaos/pair/acknowledgements.js';

describe('the record of interruptions', () => {
  it('measures a takeover from the last PUBACK before it to the first one after', () => {
    const account = new Interruptions();
    account.acknowledged('one', 100);
    account.acknowledged('one', 150);
    account.acknowledged('two', 1_150);
    account.acknowledged('two', 1_200);
    expect(account.takeovers).toEqual([{ from: 'one', to: 'two', tookMs: 1_000, atMs: 1_150 }]);
    expect(account.pauses).toEqual([{ fromMs: 150, toMs: 1_150 }]);
    expect(account.longestSince(1_000)).toBe(1_000);
    expect(account.longestSince(1_150)).toBe(0);
  });
});

describe('the record of epochs', () => {
  it('finds nothing when each gateway acknowledges in its own', () => {
    const epochs = new Epochs();
    epochs.held('one', 1);
    epochs.acknowledged('one', 100);
    epochs.held('two', 2);
    epochs.acknowledged('two', 200);
    epochs.held('one', 3);
    epochs.acknowledged('one', 300);
    expect(epochs.used).toBe(3);
    expect(epochs.violations).toEqual([]);
  });

  it('finds two gateways that acknowledge in the same epoch', () => {
    const epochs = new Epochs();
    epochs.held('one', 7);
    epochs.acknowledged('one', 100);
    epochs.held('two', 7);
    epochs.acknowledged('two', 200);
    expect(epochs.violations).toEqual(['two and one both in epoch 7']);
  });

  it('finds a gateway that acknowledges after one with a later epoch', () => {
    const epochs = new Epochs();
    epochs.held('one', 1);
    epochs.acknowledged('one', 100);
    epochs.held('two', 2);
    epochs.acknowledged('two', 200);
    epochs.acknowledged('one', 210);
    expect(epochs.violations).toEqual([
      'one acknowledged in epoch 1, 10 ms after two began to in 2',
    ]);
  });

  it('finds a gateway that acknowledges without a lease', () => {
    const epochs = new Epochs();
    epochs.acknowledged('one', 100);
    expect(epochs.violations).toEqual(['one acknowledged without a lease']);
  });
});
