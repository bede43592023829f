import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerClientError } from './unroutable.js';

/**
 * Answers requests that Node's parser rejects, by `answerClientError`.
 *
 * A connection with an answer to an earlier request under way is cut instead: the client would take the
 * error for a part of that answer.
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
