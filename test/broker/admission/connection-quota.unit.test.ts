import { pino } from 'pino';
import { expect, it } from 'vitest';
import { ConnectionQuota, type Held } from '../../../src/broker/admission/connection-quota.js';
import { QuotaWatch } from '../../../src/site/access/quota-watch.js';
import { Health } from '../../../src/site/health/health.js';
import { SiteModel } from '../../../src/site/site-model.js';
import { faultTexts } from '../../harness/described/fault-texts.js';

const silent = pino({ level: 'silent' });

/** A quota of eight connections in all, and the addresses of those it has dropped. */
function start() {
  const health = new Health();
  const watch = new QuotaWatch({ health, model: new SiteModel(), log: silent, now: () => 0 });
  const quota = new ConnectionQuota({ total: 8, isExempt: () => false, watch });
  const dropped: string[] = [];
  const arrive = (address: string): Held => {
    const drop = () => void dropped.push(address);
    const held = { address, keepAliveMs: 0, silentMs: 0, timeOut: drop, close: drop };
    quota.arrived(held);
    return held;
  };
  return { health, quota, dropped, arrive };
}

it('counts newcomers from one IPv6 network as one address', () => {
  const { health, dropped, arrive } = start();
  for (let host = 1; host <= 6; host++) arrive(`2001:db8:0:1::${host}`);
  expect(dropped).toEqual(['2001:db8:0:1::1', '2001:db8:0:1::2']);
  for (let host = 1; host <= 4; host++) arrive(`2001:db8:0:2::${host}`);
  expect(dropped).toHaveLength(2);
  expect(faultTexts(health.faults())).toEqual([expect.stringContaining('address 2001:db8:0:1')]);
});

it('gives newcomers the room that logged-in clients leave', () => {
  const { quota, dropped, arrive } = start();
  const quotas = { connections: 10, persistentSessions: 1, subscriptions: 1 };
  for (let sensor = 1; sensor <= 5; sensor++) {
    const claimant = { owner: `device:${sensor}`, sessionKey: `${sensor}`, quotas };
    quota.admit(arrive(`192.0.2.${sensor}`), claimant);
  }
  for (let stranger = 1; stranger <= 4; stranger++) arrive(`198.51.100.${stranger}`);
  expect(dropped).toEqual(['198.51.100.1']);
});

it('allows a principal at most twice its connections during takeovers, while the old ones are ending', () => {
  const { quota, arrive } = start();
  const quotas = { connections: 1, persistentSessions: 1, subscriptions: 1 };
  const claimant = { owner: 'device:1', sessionKey: 'session', quotas };
  for (let times = 1; times <= 2; times++) quota.admit(arrive('192.0.2.1'), claimant);
  const third = arrive('192.0.2.1');
  expect(() => quota.admit(third, claimant)).toThrow('connections');
});
