import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** Clients that pipeline at all send a few requests; each costs memory until it is answered. */
const MAX_UNANSWERED = 16;

/**
 * Hangs up on a client that sends ever more requests without taking the answers.
 *
 * Node stops reading then, but hands out every request that it has already read: a thousand of them in
 * 64 KiB. A server may close a connection at any time (RFC 9112, 9.5).
 */
export function limitPipelining(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > MAX_UNANSWERED) {
      socket.destroy();
      return;
    }
    unanswered.set(socket, count);
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 0) - 1));
    listener(request, response);
  };
}
