import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const TIMEOUT_MS = 5000;

/**
 * Notifies systemd of a state of the service, such as `READY=1` (sd_notify(3); contract 1, ready).
 *
 * Does nothing if `notifySocket`, the variable `NOTIFY_SOCKET`, is unset. Node has no Unix datagram sockets, so
 * this runs the program `systemd-notify`, for which the unit needs `NotifyAccess=all`. Rejects if systemd cannot
 * be notified.
 */
export async function notifySystemd(
  state: string,
  notifySocket: string | undefined,
): Promise<void> {
  if (notifySocket === undefined || notifySocket === '') return;
  await promisify(execFile)('systemd-notify', [state], {
    env: { NOTIFY_SOCKET: notifySocket },
    timeout: TIMEOUT_MS,
  });
}

/**
 * Returns the time within which systemd expects a sign of life, `WATCHDOG=1`; undefined if it expects none.
 *
 * `environment` holds `WATCHDOG_USEC` and `WATCHDOG_PID` (sd_watchdog_enabled(3)).
 */
export function watchdogTimeoutMs(
  environment: Readonly<Record<string, string | undefined>>,
  processId: number,
): number | undefined {
  const { WATCHDOG_USEC: timeoutUs = '', WATCHDOG_PID: watchedId = '' } = environment;
  if (watchedId !== '' && watchedId !== String(processId)) return undefined;
  return Number(timeoutUs) > 0 ? Number(timeoutUs) / 1000 : undefined;
}
