import { describe, expect, it } from 'vitest';
import { networkOf, plainAddress } from '../../src/domain/addresses.js';

describe('the network of an address', () => {
  it.each([
    ['2001:db8:0:1::1', '2001:db8:0:1:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8::ffff'],
    ['2001:db8::1', '2001:db8::1:2:3'],
    ['::2', '::3'],
  ])('is the same for %s and %s', (one, other) => {
    expect(networkOf(one)).toBe(networkOf(other));
  });

  it.each([
    ['2001:db8:0:1::1', '2001:db8:0:2::1'],
    ['2001:db8::1', '2001:db9::1'],
    ['2001:db8:1::', '2001:db8:2::'],
    ['192.0.2.1', '192.0.2.2'],
    // How a listener on both versions sees IPv4 clients.
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['', '192.0.2.1'],
    // All sensors of a home are in one such network.
    ['fe80::1%eth0', 'fe80::2%eth0'],
    ['fd12:3456::1', 'fd12:3456::2'],
  ])('differs for %j and %s', (one, other) => {
    expect(networkOf(one)).not.toBe(networkOf(other));
  });
});

it.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:c000:201', '::ffff:c000:201'],
  [undefined, ''],
])('a socket at %s has the address %j', (sent, address) => {
  expect(plainAddress(sent)).toBe(address);
});
