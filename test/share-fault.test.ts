import { expect, it, onTestFinished } from 'vitest';
import { ProcessorShare, type ShareUser } from '../src/processor-share.js';
import { SHARE_CHECK_MS, shareFault } from '../src/share-fault.js';
import { SiteModel } from '../src/site/site-model.js';

/** The turns, and the fault as it was last asked for. */
function watched() {
  const turns = new ProcessorShare();
  let fault: string | undefined;
  const timer = setInterval(() => {
    fault = shareFault(turns, new SiteModel());
  }, SHARE_CHECK_MS);
  onTestFinished(() => clearInterval(timer));
  return { turns, fault: () => fault };
}

/** Two of the intervals, and some. */
const TIMEOUT_MS = 15_000;

it('names who asks for most of the processor, until that ends', { timeout: 40_000 }, async () => {
  const { turns, fault } = watched();
  let isBusy = true;
  onTestFinished(() => {
    isBusy = false;
  });
  const user = (line: string, workMs: number): ShareUser => {
    const one: ShareUser = {
      ...{ line, kind: 'known' },
      takeTurn() {
        const untilMs = performance.now() + workMs;
        while (performance.now() < untilMs);
        if (isBusy) turns.want(one);
      },
    };
    return one;
  };
  turns.want(user('192.0.2.1', 1));
  turns.want(user('token:t-1', 3));
  await expect
    .poll(fault, { timeout: TIMEOUT_MS })
    .toMatch(/much of the processor, most of all access token t-1\.$/);
  isBusy = false;
  await expect.poll(fault, { timeout: TIMEOUT_MS }).toBeUndefined();
});

it('names who uses a quarter of the processor, though nobody waits', {
  timeout: 20_000,
}, async () => {
  const { turns, fault } = watched();
  const user: ShareUser = {
    ...{ line: 'address:192.0.2.1', kind: 'stranger' },
    takeTurn() {
      const untilMs = performance.now() + 10;
      while (performance.now() < untilMs);
    },
  };
  // Each comes when the one before is done, so that no round leaves work over.
  const timer = setInterval(() => turns.want(user), 20);
  onTestFinished(() => clearInterval(timer));
  await expect.poll(fault, { timeout: TIMEOUT_MS }).toMatch(/most of all address 192\.0\.2\.1\.$/);
});
