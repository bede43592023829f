/**
 * Looks a gateway over: what would keep it from its work, or from its next start, each with what to do.
 *
 * The checks are those that the gateway makes itself, at a start and while it runs; here they report to a health of their
 * own. They change nothing, and work beside a running gateway and without one.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { configWarnings } from './config/rules.js';
import { isEmbeddedStore } from './config/store-schema.js';
import { isAnyAddress } from './domain/addresses.js';
import { SELF_SIGNED_FILE } from './domain/credentials.js';
import {
  CHECKS,
  type FaultReport,
  type Finding,
  fault,
  faultWords,
  type Language,
  NO_PAIR,
  type Phrase,
} from './domain/fault.js';
import type { FaultName } from './domain/faults.js';
import { formatTime, PLAUSIBLE_FROM_MS } from './domain/time.js';
import { GatewayError, systemErrorCode } from './errors.js';
import { ADMIN_TOKEN_FILE, ANY_OTHER_USER, unlessMissing } from './files.js';
import type { Foundation } from './foundation.js';
import { listen } from './network/listen.js';
import { connectionShares } from './network/open-files.js';
import { ServerCertificate } from './network/server-certificate.js';
import { Releasers } from './releasers.js';
import { Health } from './site/health/health.js';
import { DiskMonitor } from './store/data-directory.js';
import { PROGRAMS, socketIn } from './store/embedded/embedded-redis.js';
import { keysOf } from './store/keys.js';
import { addressOfStore } from './store/open.js';
import { checkServer, checkSettings } from './store/server/check.js';
import { connectManagementRedis, untilReady } from './store/server/connection.js';
import { ClockStoreRedis } from './store/site/kept.js';
import { Store } from './store/store.js';

const ANSWER_WITHIN_MS = 3_000;
/** A clock that differs less is being slewed, or the answer took its time. */
const MIN_DIFFERENCE_MS = 5_000;
const MIN_CONNECTIONS = 1_000;
const MIB = 1024 * 1024;
const GROUP_AND_OTHERS_ENTER = 0o011;
const SECRETS = [
  ADMIN_TOKEN_FILE,
  'installation.key',
  'footage.key',
  SELF_SIGNED_FILE,
  'tls/ca.key',
];

/** When Node.js ends the support of its LTS releases (nodejs.org/en/about/previous-releases). */
const SUPPORTED_UNTIL: Readonly<Record<string, string>> = {
  20: '2026-04-30',
  22: '2027-04-30',
  24: '2028-04-30',
};

/** Faults that leave a running gateway ready, and are wrong nevertheless. */
const WRONG: ReadonlySet<FaultName> = new Set<FaultName>([
  'certificateEnded',
  'certificateUnusable',
  'configurationFaulty',
  'fileOfAnother',
  'portUnavailable',
  'secretReadable',
  'storeProgramMissing',
  'storeUnsuitable',
]);

/** What the checks need. */
export type Patient = Pick<
  Foundation,
  'config' | 'log' | 'maxOpenFiles' | 'now' | 'runtime' | 'searchPath'
>;

/** The faults that a check has found, and what to say if there are none. */
interface Result {
  readonly faults: readonly FaultReport[];
  readonly fine: Phrase;
}

/**
 * Makes all checks.
 *
 * @param isServing whether it is the running gateway that asks
 */
export async function examine(
  patient: Patient,
  language: Language,
  isServing = false,
): Promise<Finding[]> {
  const { redis, dataDir } = patient.config;
  const isOff = !isServing && isEmbeddedStore(redis) && !(await accepts(socketIn(dataDir)));
  // Another gateway may have the port.
  const isServed = isServing || (!isOff && (await answersAsGateway(patient)));
  const { store, clock } = await storeAndClock(patient, isOff);
  const results: Readonly<Record<Finding['check'], Result>> = {
    configuration: configuration(patient),
    store,
    disk: await disk(patient),
    clock,
    certificate: await certificate(patient),
    ports: await ports(patient, isServed),
    rights: await rights(patient),
    limits: limits(patient),
    runtime: runtime(patient),
  };
  return Object.entries(results).flatMap(([name, result]) =>
    findingsOf(z.enum(CHECKS).parse(name), result, language),
  );
}

/** The lines of a check: one for each fault, or one that says that all is well. */
export function findingsOf(
  check: Finding['check'],
  { faults, fine }: Result,
  language: Language,
): Finding[] {
  if (faults.length === 0) return [{ check, state: 'ok', finding: fine[language] }];
  return faults.map((one) => {
    const { message, advice } = faultWords({ ...one, more: undefined }, language);
    const isWrong = one.stops || WRONG.has(one.name);
    return { check, state: isWrong ? 'fail' : 'warn', finding: message, advice };
  });
}

function configuration({ config, now }: Patient): Result {
  // The certificate has a check of its own.
  const warnings = configWarnings({ ...config, tls: undefined }, now());
  return {
    faults: warnings.map((reason) => fault('configurationDoubtful', { reason })),
    fine: { en: 'It is valid.', de: 'Sie ist gültig.' },
  };
}

/** Both ask the store, over one connection. */
async function storeAndClock(
  patient: Patient,
  isOff: boolean,
): Promise<{ readonly store: Result; readonly clock: Result }> {
  const { config, log } = patient;
  if (isOff) return { store: program(patient), clock: await clock(patient, undefined) };
  const socketPath = isEmbeddedStore(config.redis) ? socketIn(config.dataDir) : undefined;
  const releasers = new Releasers();
  const keys = keysOf(config.site);
  const place = addressOfStore(config.redis, keys, { log, releasers }, socketPath);
  const redis = connectManagementRedis({ ...place, name: 'doctor' });
  const store = new Store(redis, keys.sitePrefix);
  releasers.add(() => store.close());
  const health = new Health();
  try {
    await untilReady(redis, ANSWER_WITHIN_MS);
    await checkServer(store, config.redis.cluster !== undefined);
    await checkSettings(store, health);
    const fine = {
      en: 'It answers, and its settings are safe.',
      de: 'Er antwortet, und seine Einstellungen sind sicher.',
    };
    const found = { faults: health.shown(), fine };
    return { store: found, clock: await clock(patient, store) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const faults = [fault('storeUnsuitable', { reason: error.detail })];
    return { store: { faults, fine: { en: '', de: '' } }, clock: await clock(patient, undefined) };
  } finally {
    await releasers.release({
      timeoutMs: ANSWER_WITHIN_MS,
      onFailure: (err) => log.warn({ err }, 'failed to leave the store'),
      onOutOfTime: () => undefined,
    });
  }
}

/** Whether a server has the socket; a killed one leaves it behind. */
function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Of the gateway's own store while nothing runs. */
function program({ searchPath }: Patient): Result {
  const env = { PATH: searchPath };
  const isInstalled = PROGRAMS.some((name) => !spawnSync(name, ['--version'], { env }).error);
  return {
    faults: isInstalled ? [] : [fault('storeProgramMissing')],
    fine: {
      en: 'It does not run, and starts with the gateway.',
      de: 'Er läuft nicht, und startet mit dem Gateway.',
    },
  };
}

async function disk({ config }: Patient): Promise<Result> {
  const directory = existing(config.dataDir);
  const health = new Health();
  await new DiskMonitor(directory, health, { set: () => undefined }).check();
  const { bavail, bsize } = await statfs(directory);
  const mebibytes = Math.floor((bavail * bsize) / MIB);
  const fine = { en: `${mebibytes} MiB are free.`, de: `${mebibytes} MiB sind frei.` };
  return { faults: health.shown(), fine };
}

/** The directory, or, before the first start has made it, the one that it will be in. */
function existing(directory: string): string {
  return existsSync(directory) ? directory : existing(dirname(directory));
}

/** @param store undefined if it does not answer */
async function clock({ config, log, now }: Patient, store: Store | undefined): Promise<Result> {
  const fine = { en: 'It is plausible.', de: 'Sie ist plausibel.' };
  const faults: FaultReport[] = [];
  if (now() < PLAUSIBLE_FROM_MS) faults.push(fault('clockUnset'));
  if (store !== undefined) {
    const last = await new ClockStoreRedis(store, store, keysOf(config.site), log).load();
    if (last !== undefined && now() < last.wallMs - MIN_DIFFERENCE_MS)
      faults.push(fault('clockBehind', { shown: formatTime(last.wallMs) }));
    const [seconds] = await store.read((redis) => redis.time());
    const differenceMs = Math.abs(Number(seconds) * 1000 - now());
    if (differenceMs > MIN_DIFFERENCE_MS)
      faults.push(fault('clockDiffers', { seconds: Math.round(differenceMs / 1000) }));
  }
  // Elsewhere, as in a container, somebody else sets the clock. chrony runs only to set it.
  const isSet = ['/run/systemd/timesync/synchronized', '/run/chrony', '/run/chronyd.pid'];
  if (existsSync('/run/systemd/system') && !isSet.some((path) => existsSync(path)))
    faults.push(fault('clockUnsynchronized'));
  return { faults, fine };
}

async function certificate({ config: { tls }, log, now }: Patient): Promise<Result> {
  if (tls === undefined)
    return {
      faults: [],
      fine: { en: 'TLS is not configured.', de: 'TLS ist nicht eingerichtet.' },
    };
  if (tls.selfSigned && !existsSync(tls.certFile))
    return {
      faults: [],
      fine: { en: 'The next start makes it.', de: 'Der nächste Start erzeugt es.' },
    };
  const health = new Health(now);
  try {
    const { endMs } = await ServerCertificate.open({ ...tls, health, log, now });
    const end = formatTime(endMs).slice(0, 10);
    const fine = { en: `It is valid until ${end}.`, de: `Es ist bis ${end} gültig.` };
    return { faults: health.shown(), fine };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const reason = systemErrorCode(error.cause) ?? NO_PAIR;
    return { faults: [fault('certificateUnusable', { reason })], fine: { en: '', de: '' } };
  }
}

async function ports({ config, log }: Patient, isServed: boolean): Promise<Result> {
  const held = { en: 'The running gateway has them.', de: 'Das laufende Gateway hat sie.' };
  if (isServed) return { faults: [], fine: held };
  const { mqtt, http, tls } = config;
  const places = [
    { host: mqtt.host, port: mqtt.port },
    { host: http.host, port: http.port },
    ...(tls === undefined
      ? []
      : [mqtt, http].map((one) => ({ host: tls.host, port: one.tlsPort }))),
  ];
  const faults: FaultReport[] = [];
  for (const { host, port } of places) {
    const server = createServer();
    try {
      await listen(server, { protocol: 'mqtt', host, port, log });
      await new Promise((resolve) => server.close(resolve));
    } catch (error) {
      const code = error instanceof GatewayError ? systemErrorCode(error.cause) : undefined;
      if (code === undefined) throw error;
      faults.push(fault('portUnavailable', { port, code }));
    }
  }
  return { faults, fine: { en: 'They are free.', de: 'Sie sind frei.' } };
}

const readiness = z.object({ ready: z.boolean(), version: z.string() });

/** Whether a gateway answers on the configured HTTP port. */
async function answersAsGateway({ config: { http } }: Patient): Promise<boolean> {
  const url = new URL('http://localhost/readyz');
  if (!isAnyAddress(http.host))
    url.hostname = http.host.includes(':') ? `[${http.host}]` : http.host;
  url.port = String(http.port);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return readiness.safeParse(await response.json()).success;
  } catch {
    // Nobody answers, or something else.
    return false;
  }
}

async function rights({ config: { dataDir } }: Patient): Promise<Result> {
  const fine = {
    en: 'Only its user may use its data.',
    de: 'Nur sein Benutzer hat Zugriff auf die Daten.',
  };
  const directory = await unlessMissing(stat(dataDir));
  if (directory === undefined) return { faults: [], fine };
  const faults: FaultReport[] = [];
  if ((directory.mode & GROUP_AND_OTHERS_ENTER) !== 0) faults.push(fault('dataDirectoryOpen'));
  for (const file of [...SECRETS, 'redis', 'footage']) {
    const found = await unlessMissing(stat(join(dataDir, file)));
    if (found === undefined) continue;
    if (found.uid !== directory.uid) faults.push(fault('fileOfAnother', { file }));
    if (SECRETS.includes(file) && (found.mode & ANY_OTHER_USER) !== 0)
      faults.push(fault('secretReadable', { file }));
  }
  return { faults, fine };
}

function limits({ maxOpenFiles: files }: Patient): Result {
  const { mqtt: connections } = connectionShares(files);
  return {
    faults: connections < MIN_CONNECTIONS ? [fault('openFilesFew', { files, connections })] : [],
    fine: {
      en: `The process may open ${files} files.`,
      de: `Der Prozess darf ${files} Dateien öffnen.`,
    },
  };
}

function runtime({ runtime: version, now }: Patient): Result {
  const found = runtimeFault(version, now());
  return {
    faults: found === undefined ? [] : [found],
    fine: { en: `Node.js ${version} is supported.`, de: `Node.js ${version} wird unterstützt.` },
  };
}

/**
 * The fault of a runtime that no longer gets fixes; undefined for any other.
 *
 * @param version as in `process.version`
 */
export function runtimeFault(version: string, nowMs: number): FaultReport | undefined {
  const [, major = ''] = /^v(\d+)\./.exec(version) ?? [];
  const since = SUPPORTED_UNTIL[major];
  if (since === undefined || nowMs < Date.parse(`${since}T24:00Z`)) return undefined;
  return fault('runtimeUnsupported', { version, since });
}
