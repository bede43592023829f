import { describe, expect, it } from 'vitest';
import { Intake, memoryOf } from '../../src/broker/intake.js';

const MIB = 1024 * 1024;

describe('what waits for the store', () => {
  it('is bounded for each principal, on however many connections; alarms have room of their own', () => {
    const intake = new Intake();
    intake.shareOf('device:1').taken(12 * MIB);
    const share = intake.shareOf('device:1');
    expect([share.hasRoomForMessage(true), share.hasRoomForMessage(false)]).toEqual([false, true]);
    share.taken(12 * MIB);
    expect([share.hasRoomForMessage(false), share.hasRoomForAlarm]).toEqual([false, true]);
    share.taken(12 * MIB);
    expect(share.hasRoomForAlarm).toBe(false);
    expect(intake.shareOf('device:2').hasRoom).toBe(true);
  });

  it('is a hundred publishes of one client while the store gets on: all others wait for them', () => {
    const share = new Intake().shareOf('device:1');
    for (let count = 0; count < 99; count++) share.taken(memoryOf(0));
    expect(share.hasRoom).toBe(true);
    share.taken(memoryOf(0));
    expect(share.hasRoom).toBe(false);
    expect(share.hasRoomForMessage(true)).toBe(true);
  });

  it('is bounded for all of them, but for a little that each may have', () => {
    const intake = new Intake();
    for (let number = 0; number < 20; number++) intake.shareOf(`device:${number}`).taken(10 * MIB);
    const full = intake.shareOf('device:1');
    expect([full.hasRoom, full.hasRoomForMessage(false), full.hasRoomForAlarm]).toEqual([
      ...[false, false, false],
    ]);
    const late = intake.shareOf('device:99');
    expect(late.hasRoom).toBe(true);
    late.taken(32 * 1024);
    expect([late.hasRoom, late.hasRoomForAlarm]).toEqual([false, true]);
  });

  it('is waited for until there is room, unless that is called off', () => {
    const intake = new Intake();
    const share = intake.shareOf('device:1');
    share.taken(4 * MIB);
    const called: string[] = [];
    share.whenThereIsRoom(() => called.push('one'));
    share.whenThereIsRoom(() => called.push('other'))();
    intake.shareOf('device:2').taken(1);
    intake.shareOf('device:2').stored(1);
    expect(called).toEqual([]);
    share.stored(3 * MIB);
    share.stored(MIB);
    expect(called).toEqual(['one']);
  });
});
