import { expect, it } from 'vitest';
import { SUBJECT_FIELDS } from '../../src/logging/log.js';
import { callsOf, codeOf, LOG_CALL, messagesOf, sourcesIn } from '../docs/program-texts.js';

/** These log with the log of a bridge, `log.child({ bridge })`, or of a webhook. */
const OF_A_BRIDGE = [
  'bridge/bridge',
  'bridge/bridge-report',
  'bridge/inbound',
  'delivery/dead-letters',
].map((name) => `src/${name}.ts`);

/**
 * Lines that no client, device, token holder, HTTP client or upstream can cause at will.
 */
const NOT_BY_STRANGERS: ReadonlySet<string> = new Set([
  // At a start, a stop, or a reload.
  'warning',
  'gateway ready',
  'gateway standing by',
  'took the lease of the store',
  'another gateway serves the site of this store',
  'lost the lease to another gateway, stopping to serve',
  'the store refuses the lease',
  'failed to leave the lease',
  'gateway stopping',
  'gateway stopped',
  'gateway failed',
  'failed to start the gateway: …',
  'failed to stop the gateway',
  'failed to stop the gateway in time',
  'failed to stop a part of the gateway',
  'GIVEN_UP',
  'failed to notify systemd',
  'reloaded the bridges and the TLS certificate; other keys take effect with a new start',
  'read the TLS certificate again',
  'the new TLS certificate cannot be used, the old one stays',
  'failed to reload the bridges',
  'failed to reload, nothing is changed: …',
  "generated the first administrator's token",
  'failed to keep a secret, the next start makes another one',
  'set aside a damaged secret file: a new secret follows',
  'other users may use a secret file: set its mode to 0600',
  'failed to prepare the folder for recordings',
  'failed to read stored sessions',
  'failed to read retained messages, left out',
  'failed to restore retained messages',
  'the TLS key is a long RSA one, which slows every handshake: use ECDSA P-256',
  'failed to read the stored clock',
  'failed to read the witness of the store',
  'failed to record denials before the stop',
  // Once per outage or fault of the store, the disk or the clock.
  'failed to publish statuses, retrying',
  'failed to record denials, retrying',
  'denials are lost: too many wait for the store',
  'failed to reach the store',
  'reached the store again',
  'no replica confirms what is stored',
  'a replica confirms what is stored again',
  'the store has a new primary',
  'the store is silent, reconnecting',
  'the store has lost acknowledged data',
  'the store has lost its newest alarms',
  'failed to settle acknowledged messages, they may be repeated',
  'stored site is inconsistent',
  'the embedded store ended',
  'failed to restart the embedded store',
  'adopted the running embedded store,embedded store answers',
  'cut the torn end off the append-only file',
  'append-only files without a manifest: the store starts empty',
  'failed to export audit records, retrying',
  // By an administrator who reads the trail, or a manager.
  'failed to read audit records',
  'failed to act on a change of the site',
  'message',
  'this Node.js has no security fixes any more',
  'the clock of this machine has jumped',
  'failed to save the clock',
  // By a timer, or limited to once a minute; these name everyone concerned.
  'slowed clients over a limit',
  'quota exceeded',
  'failed to keep the queues in bounds, retrying',
  'failed to record an expired token, retrying',
  'removed old …',
  'failed to remove old …, retrying',
]);

const TEXT = /'[^']*'|"[^"]*"|`[^`]*`/g;
const subject = new RegExp(`\\b(?:${SUBJECT_FIELDS.join('|')}|whoAsks)\\b`);

it('every log line names its subject, or cannot be caused by strangers', () => {
  const causable = sourcesIn('src')
    .filter((path) => !OF_A_BRIDGE.includes(path))
    .flatMap((path) => callsOf(codeOf(path), LOG_CALL))
    .filter((given) => !subject.test(given.replaceAll(TEXT, '')))
    .map((given) => messagesOf(given).join() || (given.split(', ').at(-1) ?? ''));
  expect(causable.filter((line) => !NOT_BY_STRANGERS.has(line))).toEqual([]);
  expect([...NOT_BY_STRANGERS].filter((line) => !causable.includes(line))).toEqual([]);
});
