import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { SAFE_SETTINGS, useRedis } from '../harness/shared-redis.js';
import { recordsOf } from './audit-pages.js';
import { failure } from './client.js';
import { startGateway } from './harness.js';

const redis = useRedis(SAFE_SETTINGS);
const lossList = z.array(z.looseObject({ id: z.string(), acknowledgedAt: z.string().nullable() }));

it('lists losses newest first, with how many and which', async () => {
  expect((await (await startGateway(redis)).admin('GET', '/losses')).json).toEqual([]);
  const gateway = await startGateway(redis, { losses: 2 });
  const [newer, older] = gateway.lossIds;
  const answer = await gateway.admin('GET', '/losses');
  expect(lossList.parse(answer.json).map(({ id }) => id)).toEqual([newer, older]);
  expect(lossList.parse(answer.json)[0]).toEqual({
    ...{ id: newer, detectedAt: expect.stringMatching(/Z$/), what: 'alarms' },
    ...{ count: 200, from: 801, to: 1000, detail: 'The store is back at an earlier state.' },
    ...{ acknowledgedAt: null, acknowledgedBy: null },
  });
});

it('is a fault until every loss is acknowledged, and the gateway stays ready', async () => {
  const gateway = await startGateway(redis, { losses: 2 });
  const ids = gateway.lossIds;
  const faults = () => gateway.faults();
  expect(await faults()).toEqual([
    expect.stringMatching(/lost up to 400 alarms \(numbers 801 to 1000\), in 2 incidents, .*GET/),
  ]);
  expect((await gateway.call('GET', '/readyz')).status).toBe(200);
  await gateway.admin('POST', `/losses/${ids[0]}/acknowledge`);
  expect(await faults()).toEqual([
    expect.stringContaining('lost up to 200 alarms (numbers 801 to 1000)'),
  ]);
  await gateway.admin('POST', `/losses/${ids[1]}/acknowledge`);
  expect(await faults()).toEqual([]);
});

it('answers a repeated acknowledgement alike, and records it once', async () => {
  const gateway = await startGateway(redis, { losses: 1 });
  const path = `/losses/${gateway.lossIds[0]}/acknowledge`;
  const records = await recordsOf(gateway, async () => {
    const answers = await Promise.all([gateway.admin('POST', path), gateway.admin('POST', path)]);
    gateway.aheadMs = 60_000;
    answers.push(await gateway.admin('POST', path));
    const [first] = answers;
    expect(first?.status).toBe(200);
    expect(first?.json).toMatchObject({
      acknowledgedBy: 'admin',
      acknowledgedAt: expect.stringMatching(/Z$/),
    });
    for (const answer of answers) expect([answer.status, answer.json]).toEqual([200, first?.json]);
  });
  expect(records).toHaveLength(1);
});

it('answers 404 for a loss that is unknown', async () => {
  const gateway = await startGateway(redis);
  const answer = await gateway.admin('POST', `/losses/${randomUUID()}/acknowledge`);
  expect(failure(answer)).toBe('404 loss-not-found');
});

it('leaves a loss unchanged when the acknowledgement cannot be recorded', async () => {
  const gateway = await startGateway(redis, { losses: 1, losesStore: true });
  const [id] = gateway.lossIds;
  gateway.loseStore();
  const answer = await gateway.admin('POST', `/losses/${id}/acknowledge`);
  expect(failure(answer)).toBe('503 store-unavailable');
  const [loss] = lossList.parse((await gateway.admin('GET', '/losses')).json);
  expect(loss?.acknowledgedAt).toBe(null);
  expect(await gateway.faults()).toContainEqual(expect.stringContaining('200 alarms'));
});
