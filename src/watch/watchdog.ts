/**
 * A dead man's call: a GET to a URL every minute while the gateway is ready.
 *
 * Nobody inside of a box can tell that the box is gone. The service behind the URL tells somebody once the calls end
 * (the convention of healthchecks.io). A call that fails is logged: the service notices it by itself.
 */

import type { Foundation } from '../foundation.js';

const EVERY_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
const TIMEOUT_MS = 10_000;

/** Begins the calls, if a URL is configured. They end with the gateway. */
export function startWatchdog({ config, elapsed, health, log, releasers }: Foundation): void {
  if (config.watchdog === undefined) return;
  const { url } = config.watchdog;
  const stopping = new AbortController();
  const call = async () => {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const response = await fetch(url, { signal });
      await response.body?.cancel();
      if (!response.ok) log.warn({ status: response.status }, 'the watchdog URL refused a call');
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, 'failed to call the watchdog URL');
    }
  };
  let dueMs = elapsed();
  const look = () => {
    if (elapsed() < dueMs || !health.ready()) return;
    dueMs = elapsed() + EVERY_MS;
    void call();
  };
  look();
  releasers.every(LOOK_EVERY_MS, look);
  releasers.add(() => stopping.abort());
}
