import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerClientError } from './unroutable.js';

/**
 * How to answer what Node's parser refuses: as `answerClientError`, but never into the middle of an
 * answer to an earlier request of the same connection, which the client would take it for a part of.
 * Such a connection is cut.
 */
export function refusalsFor(server: Server): (error: Error, socket: Duplex) => void {
  const answers = new WeakMap<Duplex, Set<ServerResponse>>();
  server.on('request', ({ socket }, response) => {
    const ofSocket = answers.get(socket) ?? new Set();
    answers.set(socket, ofSocket.add(response));
    response.once('close', () => ofSocket.delete(response));
  });
  return (error, socket) => {
    const isAnswering = [...(answers.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    if (isAnswering) socket.destroy();
    else answerClientError(error, socket);
  };
}
