import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** What the log says of a connection. */
interface Named {
  readonly log: Logger;
  readonly name: string;
}

/**
 * Breaks a connection on which the server has gone silent, asking it for a sign of life.
 *
 * The kernel reports a peer that vanished (a pulled cable) only after some 15 minutes, and ioredis'
 * `socketTimeout` can fire on the connection after the one it was set for. On a local socket no peer can
 * vanish: a server that is silent there is busy.
 */
export function watchSilence(redis: Redis, named: Named, maxSilenceMs: number): void {
  if (isLocal(redis)) return;
  let isWaiting = false;
  const probe = () => {
    if (isWaiting || redis.status !== 'ready') return;
    isWaiting = true;
    // Repeated, because after a reconnect this PING is pending on the new connection.
    const overdue = setInterval(() => {
      if (redis.status === 'ready' || redis.status === 'connect') {
        breakSilent(redis, named, maxSilenceMs);
      }
    }, maxSilenceMs);
    const answered = () => {
      clearInterval(overdue);
      isWaiting = false;
    };
    redis.ping().then(answered, answered);
  };
  const timer = setInterval(probe, maxSilenceMs / 2);
  timer.unref();
  redis.once('end', () => clearInterval(timer));
}

/**
 * Breaks a connection whose commands time out, once nothing was heard while one of them waited.
 *
 * Each would wait in vain otherwise, for as long as the kernel holds on to a peer that vanished.
 */
export function breakOnTimeout(redis: Redis, named: Named, commandTimeoutMs: number): void {
  if (isLocal(redis)) return;
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, stream) => {
    const { stream: socket } = redis;
    const heardBytes = socket?.bytesRead;
    const { reject } = command;
    command.reject = (error) => {
      reject.call(command, error);
      // What times out while it greets the server is for ioredis to break.
      if (!isTimeout(error) || redis.status !== 'ready' || redis.stream !== socket) return;
      if (socket.bytesRead === heardBytes) breakSilent(redis, named, commandTimeoutMs);
    };
    return send(command, stream);
  };
}

/** Whether a command failed because the store did not answer in time. */
function isTimeout(error: Error): boolean {
  return error.message === 'Command timed out';
}

function isLocal({ options: { path } }: Redis): boolean {
  return path !== undefined && path !== null;
}

/** Destroys the socket: one that is ended waits for its peer. */
function breakSilent(redis: Redis, { log, name }: Named, maxSilenceMs: number): void {
  // Its `close` is still to come.
  if (redis.stream.destroyed) return;
  log.warn({ connection: name, maxSilenceMs }, 'the store is silent, reconnecting');
  redis.stream.destroy();
}
