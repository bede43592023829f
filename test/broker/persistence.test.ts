import { setImmediate as nextImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BrokerPersistence } from '../../src/broker/persistence.js';

it('fault 33: keeps the will of a client that comes and goes faster than the store answers', async () => {
  const kept = new Set<string>();
  let deletions = 0;
  let isDeleting = false;
  const stored = {
    setup: () => Promise.resolve(),
    async putWill({ id }: { id: string }) {
      await nextImmediate();
      kept.add(id);
    },
    async delWill({ id }: { id: string }) {
      isDeleting = true;
      await nextImmediate();
      await nextImmediate();
      kept.delete(id);
      deletions++;
    },
  };
  const persistence = new BrokerPersistence({
    ...{ sessions: Object(), stored: Object(stored) },
    log: pino({ level: 'silent' }),
  });
  await persistence.setup({ id: 'broker' });
  const client = { id: 'sensor', brokerId: 'broker' };
  await persistence.putWill(client, {});
  await persistence.delWill(client);
  while (!isDeleting) await nextImmediate();
  await persistence.putWill(client, {});
  await persistence.delWill(client);
  while (deletions === 0) await nextImmediate();
  await persistence.putWill(client, {});
  for (let turn = 0; turn < 10; turn++) await nextImmediate();
  expect([...kept]).toEqual(['sensor']);
});
