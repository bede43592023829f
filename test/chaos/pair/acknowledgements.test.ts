import { describe, expect, it } from 'vitest';
import { Acknowledgements } from './acknowledgements.js';

describe('the account of who acknowledges', () => {
  it('measures a takeover from the last PUBACK before to the first one after', () => {
    const account = new Acknowledgements();
    account.held('one', 1);
    account.acknowledged('one', 100);
    account.acknowledged('one', 150);
    account.held('two', 2);
    account.acknowledged('two', 1_150);
    account.acknowledged('two', 1_200);
    expect(account.takeovers).toEqual([{ from: 'one', to: 'two', tookMs: 1_000, atMs: 1_150 }]);
    expect(account.pauses).toEqual([{ fromMs: 150, toMs: 1_150 }]);
    expect(account.epochs).toBe(2);
    expect(account.violations).toEqual([]);
  });

  it('finds two gateways that acknowledge in the same epoch', () => {
    const account = new Acknowledgements();
    account.held('one', 7);
    account.acknowledged('one', 100);
    account.held('two', 7);
    account.acknowledged('two', 200);
    expect(account.violations).toEqual(['two and one both acknowledged in 7']);
  });

  it('finds a gateway that acknowledges after one of a later epoch has', () => {
    const account = new Acknowledgements();
    account.held('one', 1);
    account.acknowledged('one', 100);
    account.held('two', 2);
    account.acknowledged('two', 200);
    account.acknowledged('one', 210);
    expect(account.violations).toEqual(['one acknowledged in epoch 1, 10 ms after two in 2']);
  });

  it('finds a gateway that acknowledges without a lease', () => {
    const account = new Acknowledgements();
    account.acknowledged('one', 100);
    expect(account.violations).toEqual(['one acknowledged without a lease']);
  });
});
