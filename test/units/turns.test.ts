/** Whose packets are handled next, and how many before the event loop goes on. */
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Turns, type TurnTaker } from '../../src/broker/turns.js';

/** Clients that note whose packets are handled, and how many in the present turn of the event loop. */
function start(lag = 0) {
  const turns = new Turns({ lag });
  const handled: string[] = [];
  const client = (line: string, packets: number, change: Partial<TurnTaker> = {}) => {
    let left = packets;
    const taker: TurnTaker = {
      line,
      onlyAcknowledges: false,
      get wantsTurn() {
        return left > 0;
      },
      mayBeHandled: () => true,
      handle: (most) => {
        const count = Math.min(left, most);
        left -= count;
        handled.push(...Array<string>(count).fill(line));
        return count;
      },
      parked: () => undefined,
      ...change,
    };
    turns.want(taker);
    return taker;
  };
  return { turns, handled, client };
}

const count = (handled: readonly string[], line: string) =>
  handled.filter((one) => one === line).length;

describe('packets are handled', () => {
  it('of a principal with one client as many as of one with a hundred', async () => {
    const { handled, client } = start();
    for (let one = 0; one < 100; one++) client('many', 1_000);
    client('single', 1_000);
    while (count(handled, 'single') < 500) await nextImmediate();
    expect(Math.abs(count(handled, 'many') - count(handled, 'single'))).toBeLessThanOrEqual(16);
  });

  it('of clients that only acknowledge before all others', async () => {
    const { handled, client } = start();
    client('device', 10);
    client('nurse', 10, { onlyAcknowledges: true });
    await nextImmediate();
    expect(handled.slice(0, 10)).toEqual(Array(10).fill('nurse'));
  });

  it.each([
    [0, 100],
    [501, 20],
  ])('when %i entries wait to be sent at most %i in a round', async (lag, most) => {
    const { handled, client } = start(lag);
    for (let one = 0; one < 30; one++) client(`device ${one}`, 1_000);
    await nextImmediate();
    expect(handled.length).toBe(most);
  });

  it('under lag after a pause, but acknowledgements at once', async () => {
    const { handled, client } = start(1_000_000);
    client('device', 1_000);
    await nextImmediate();
    const first = count(handled, 'device');
    client('nurse', 1, { onlyAcknowledges: true });
    await nextImmediate();
    expect([count(handled, 'nurse'), count(handled, 'device')]).toEqual([1, first]);
    await expect.poll(() => count(handled, 'device'), { interval: 1 }).toBeGreaterThan(first);
  });

  it('of a parked client once it may be handled, and it holds up nobody', async () => {
    const { handled, client } = start();
    let mayBeHandled = false;
    client('held', 10, { mayBeHandled: () => mayBeHandled });
    client('other', 10);
    await expect.poll(() => handled, { interval: 1 }).toEqual(Array(10).fill('other'));
    mayBeHandled = true;
    await expect.poll(() => count(handled, 'held'), { interval: 1 }).toBe(10);
  });

  it('no more of a client that has left', async () => {
    const { turns, handled, client } = start();
    const gone = client('gone', 10);
    turns.leave(gone);
    client('other', 10);
    await expect.poll(() => handled, { interval: 1 }).toEqual(Array(10).fill('other'));
  });
});
