import { expect, it } from 'vitest';
import { configured, useParts } from './parts.js';

const world = useParts();

const NOT_AUTHORIZED = 135;

it('a message that repeatedly becomes a dead letter while the store is away is stored and logged once', async () => {
  let away = true;
  let attempts = 0;
  const upstream = await world.upstream({ onPublish: () => NOT_AUTHORIZED });
  const parts = world.parts({
    deadLetters: {
      add: () => {
        attempts++;
        return away ? Promise.reject(new Error('the store is away')) : Promise.resolve();
      },
    },
  });
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed');
  for (let connection = 1; connection <= 3; connection++) {
    await expect.poll(() => upstream.topics).toHaveLength(connection);
    if (connection < 3) upstream.hangUp();
  }
  // The pace is one attempt a second; one attempt per connection would triple it.
  const startedMs = performance.now();
  const attemptsBefore = attempts;
  await expect.poll(() => attempts).toBe(attemptsBefore + 2);
  expect(performance.now() - startedMs).toBeGreaterThan(1_000);
  expect(parts.lines.filter((line) => line.includes('failed to store a dead letter'))).toHaveLength(
    1,
  );
  away = false;
  await expect.poll(() => parts.status()).toMatchObject({ queued: 0, dropped: { refused: 1 } });
});

it('two identical messages become two dead letters', async () => {
  const upstream = await world.upstream({ onPublish: () => NOT_AUTHORIZED });
  const parts = world.parts();
  await parts.bridges.apply([configured({ url: upstream.url })]);
  await parts.alarm('bed', '{}');
  await parts.alarm('bed', '{}');
  await expect.poll(() => parts.status()).toMatchObject({ queued: 0, dropped: { refused: 2 } });
  expect(parts.deadLetters).toHaveLength(2);
});

it('shows a bridge’s status without the store, which is asked only once at a time', async () => {
  const reads: string[] = [];
  const parts = world.parts({
    oldestReceivedAtMs: (queue) => {
      reads.push(queue);
      return new Promise(() => undefined);
    },
  });
  await parts.bridges.apply([configured()]);
  await parts.alarm('bed');
  const asked = await Promise.all([parts.status(), parts.status(), parts.status()]);
  for (const status of asked) {
    expect(status).toMatchObject({ queued: 1, oldestQueuedAtMs: null });
  }
  expect(await parts.status()).toMatchObject({ queued: 1 });
  expect(reads).toHaveLength(1);
});
