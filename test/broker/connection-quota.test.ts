import { pino } from 'pino';
import { expect, it } from 'vitest';
import { ConnectionQuota } from '../../src/broker/connection-quota.js';
import { Health } from '../../src/site/health.js';
import { QuotaWatch } from '../../src/site/quota-watch.js';
import { SiteModel } from '../../src/site/site-model.js';

const silent = pino({ level: 'silent' });

it('counts newcomers of an IPv6 network as those of one address', () => {
  const health = new Health();
  const watch = new QuotaWatch({ health, model: new SiteModel(), log: silent, now: () => 0 });
  const quota = new ConnectionQuota({ total: 8, isExempt: () => false, watch });
  const dropped: string[] = [];
  const arrive = (address: string) => {
    const drop = () => void dropped.push(address);
    quota.arrived({ address, keepAliveMs: 0, silentMs: 0, timeOut: drop, drop });
  };
  for (let host = 1; host <= 6; host++) arrive(`2001:db8:0:1::${host}`);
  expect(dropped).toEqual(['2001:db8:0:1::1', '2001:db8:0:1::2']);
  for (let host = 1; host <= 4; host++) arrive(`2001:db8:0:2::${host}`);
  expect(dropped).toHaveLength(2);
  expect(health.faults()).toEqual([expect.stringContaining('address 2001:db8:0:1')]);
});
