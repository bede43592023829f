import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const TIMEOUT_MS = 5000;

/**
 * Tells systemd a state of the service, such as `READY=1` (sd_notify(3); CONTRACT 1, ready); nothing
 * where `notifySocket`, the variable `NOTIFY_SOCKET`, is unset. Through the program
 * `systemd-notify`, because Node has no Unix datagram sockets; so the unit needs
 * `NotifyAccess=all`. Rejects when systemd cannot be notified.
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
