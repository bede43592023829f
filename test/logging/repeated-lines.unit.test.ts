import { describe, expect, it } from 'vitest';
import { RepeatedLines } from '../../src/logging/repeated-lines.js';

const MINUTE_MS = 60_000;

/** Lines held back by a clock that the test moves, and the lines written. */
class World {
  readonly written: string[] = [];
  readonly lines = new RepeatedLines(() => this.nowMs);
  nowMs = 1_000;

  /** Logs a line; it is written immediately, or later with the number of lines held back. */
  log(subject: string, message = 'denied', text = message): void {
    const write = (repeated: number) => this.written.push(`${text} ${subject} +${repeated}`);
    if (!this.lines.holdsBack({ subject, message, write })) this.written.push(`${text} ${subject}`);
  }

  pass(ms: number): string[] {
    this.nowMs += ms;
    this.lines.sweep();
    return this.written.splice(0);
  }
}

describe('a repeated line', () => {
  it('is written immediately, then once a minute as its last repetition, with their number', () => {
    const world = new World();
    for (let time = 1; time <= 5; time++) world.log('a', 'denied', `denied ${time}`);
    expect(world.pass(MINUTE_MS - 1)).toEqual(['denied 1 a']);
    expect(world.pass(1)).toEqual(['denied 5 a +4']);
    world.log('a');
    expect(world.pass(MINUTE_MS - 1)).toEqual([]);
    expect(world.pass(1)).toEqual(['denied a +1']);
  });

  it('is written immediately again after a quiet minute', () => {
    const world = new World();
    world.log('a');
    expect(world.pass(MINUTE_MS)).toEqual(['denied a']);
    world.log('a');
    expect(world.written).toEqual(['denied a']);
  });

  it('is separate for each subject and each message', () => {
    const world = new World();
    for (const subject of ['a', 'b', 'a', 'b']) {
      for (const message of ['denied', 'invalid']) world.log(subject, message);
    }
    expect(world.written).toEqual(['denied a', 'invalid a', 'denied b', 'invalid b']);
  });

  it('is remembered for a bounded number of subjects, and for the others together', () => {
    const world = new World();
    for (let number = 1; number <= 50_000; number++) world.log(`address ${number}`);
    world.log('device', 'invalid');
    const written = world.written.splice(0);
    expect(written).toHaveLength(1_002);
    expect(written.slice(-2)).toEqual(['denied address 1001', 'invalid device']);
    expect(world.pass(MINUTE_MS)).toEqual(['denied address 50000 +48999']);
    expect(world.pass(MINUTE_MS)).toEqual([]);
    world.log('address 1001');
    expect(world.written).toEqual(['denied address 1001']);
  });

  it('is written at the stop if it was held back', () => {
    const world = new World();
    world.lines.start();
    for (const subject of ['a', 'b', 'b', 'b']) world.log(subject);
    world.lines.stop();
    expect(world.written).toEqual(['denied a', 'denied b', 'denied b +2']);
    world.lines.stop();
    expect(world.written).toHaveLength(3);
  });
});
