import { describe, expect, it } from 'vitest';
import { CARE_HOME } from '../../src/demo/care-home.js';
import { Ledger } from '../../src/demo/ledger.js';
import { planAbsence, planAlarms } from '../../src/demo/plan.js';
import { ALARM_KINDS } from '../../src/domain/alarms.js';

describe('the plan', () => {
  it('has each kind once in eight alarms, on a device that detects it', () => {
    const plan = planAlarms(CARE_HOME.devices, Math.random);
    for (let round = 0; round < 20; round += 1) {
      const alarms = Array.from(ALARM_KINDS, () => plan.next().value);
      expect(new Set(alarms.map(({ kind }) => kind))).toEqual(new Set(ALARM_KINDS));
      for (const { device, kind } of alarms) expect(device.kinds).toContain(kind);
    }
  });

  it('has an absence in the middle of a long enough run', () => {
    expect(planAbsence(10)).toBeUndefined();
    expect(planAbsence(12)).toEqual({ from: 4, count: 4 });
    expect(planAbsence(1000)).toEqual({ from: 8, count: 4 });
    expect(planAbsence(Number.POSITIVE_INFINITY)).toEqual({ from: 8, count: 4 });
  });
});

describe('the ledger', () => {
  function ledgerAt(): { ledger: Ledger; at: (ms: number) => void } {
    let nowMs = 0;
    const at = (ms: number) => {
      nowMs = ms;
    };
    return { ledger: new Ledger(() => nowMs), at };
  }

  it('counts arrived and lost alarms, with their latency', () => {
    const { ledger, at } = ledgerAt();
    for (const id of ['a', 'b', 'c', 'd', 'e']) ledger.published(id, id === 'd');
    at(10);
    expect(ledger.arrived('a')).toEqual({ tookMs: 10, waited: false });
    expect(ledger.arrived('a')).toBeUndefined();
    at(20);
    ledger.arrived('b');
    at(40);
    ledger.arrived('c');
    at(5000);
    expect(ledger.arrived('d')).toEqual({ tookMs: 5000, waited: true });
    expect(ledger.totals()).toEqual({
      published: 5,
      forwarded: 4,
      lost: 1,
      repeated: 1,
      waited: 1,
      medianMs: 20,
      maxMs: 40,
    });
  });

  it('knows whether waiting alarms arrived in order', () => {
    const { ledger } = ledgerAt();
    for (const id of ['a', 'b', 'c']) ledger.published(id, true);
    ledger.arrived('a');
    ledger.arrived('c');
    expect(ledger.waitedInOrder).toBe(true);
    ledger.arrived('b');
    expect(ledger.waitedInOrder).toBe(false);
  });

  it('waits until all has arrived, or for the deadline', async () => {
    const { ledger } = ledgerAt();
    ledger.published('a', false);
    await ledger.untilAllArrived(1);
    expect(ledger.outstanding).toBe(1);
    const settled = ledger.untilAllArrived(60_000);
    ledger.arrived('a');
    await settled;
    expect(ledger.outstanding).toBe(0);
  });
});
