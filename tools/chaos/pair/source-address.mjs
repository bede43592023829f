// Preloaded into a gateway (`--import`): it then connects from the loopback address that stands for its box, so
// that a test's network knows who connects.
import { Socket } from 'node:net';
import process from 'node:process';

const localAddress = process.env['TEST_SOURCE_ADDRESS'];
const original = Socket.prototype.connect;

Socket.prototype.connect = function connect(...args) {
  // node:net passes its arguments on as one array.
  const [first] = args;
  const options = Array.isArray(first) ? first[0] : first;
  if (options?.port !== undefined && options.path === undefined)
    options.localAddress = localAddress;
  return original.apply(this, args);
};
