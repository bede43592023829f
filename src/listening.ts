/** The listeners of MQTT and HTTP, plain and with TLS, and what to do about an address that is not available. */
import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import type { Broker } from './broker/broker.js';
import { TcpListener, WebSocketListener } from './broker/listeners.js';
import { ownNetworks } from './domain/addresses.js';
import { GatewayError, systemErrorCode } from './errors.js';
import type { Foundation } from './foundation.js';
import type { HttpApp } from './http/frame.js';
import { answerUnreadable } from './http/problem.js';
import { HttpListener } from './http/server/listener.js';
import { Circle } from './network/circle.js';
import { ConnectionRate } from './network/connection-rate.js';
import type { BoundAddress } from './network/listen.js';
import { connectionShares } from './network/open-files.js';
import { SelfSigned } from './network/self-signed.js';
import { CERTIFICATE_CHECK_MS, ServerCertificate } from './network/server-certificate.js';
import type { Quota } from './site/access/quota-watch.js';
import type { SiteParts } from './site/open.js';

/** Part of the ten seconds for a stop (contract 1, stop). */
const HTTP_CLOSE_DEADLINE_MS = 2_000;

/** A router may hand out another network at any time. */
const LOOK_AT_NETWORKS_MS = 60_000;

/** On a small box, a handshake with a longer key takes several milliseconds. */
const MAX_RSA_KEY_BITS = 2_048;

/** The addresses of the listeners, by name in the ready line. */
export interface GatewayAddresses {
  readonly mqtt: BoundAddress;
  readonly http: BoundAddress;
  readonly mqtts?: BoundAddress;
  readonly https?: BoundAddress;
}

type Listen = (
  host: string,
  port: number,
  certificate?: ServerCertificate,
) => Promise<BoundAddress>;

/** What the certificate needs of the foundation. */
export type CertificateNeeds = Pick<Foundation, 'config' | 'log' | 'now'> & {
  readonly health: Pick<Foundation['health'], 'report'>;
  readonly releasers: Pick<Foundation['releasers'], 'every'>;
};

/** The configuration keys for a listener's address. */
interface AddressKeys {
  readonly host: string;
  readonly port: string;
}

/**
 * Opens all listeners: MQTT and HTTP, and with a certificate both also over TLS.
 *
 * MQTT over WebSocket comes with HTTP.
 *
 * @throws GatewayError `start-failed` when an address is not available
 */
export async function openListeners(
  foundation: Foundation,
  site: SiteParts,
  broker: Broker,
  app: HttpApp,
  certificate: ServerCertificate | undefined,
): Promise<GatewayAddresses> {
  const { config } = foundation;
  const listeners = listenersOf(foundation, site, broker, app);
  const mqtt = explained(listeners.mqtt, 'mqtt');
  const http = explained(listeners.http, 'http');
  const plain = {
    mqtt: await mqtt(config.mqtt.host, config.mqtt.port),
    http: await http(config.http.host, config.http.port),
  };
  if (config.tls === undefined || certificate === undefined) return plain;
  const { host } = config.tls;
  return {
    ...plain,
    mqtts: await mqtt(host, config.mqtt.tlsPort, certificate),
    https: await http(host, config.http.tlsPort, certificate),
  };
}

/**
 * Opens the certificate of the TLS listeners; undefined without `tls`.
 *
 * @throws GatewayError `start-failed` when it is unreadable, or cannot be made
 */
export async function openCertificate({
  config: { tls, dataDir, http },
  health,
  log,
  now,
  releasers,
}: CertificateNeeds): Promise<ServerCertificate | undefined> {
  if (tls === undefined) return undefined;
  const own = { dataDir, publicUrl: http.publicUrl, log, now };
  const issuer = tls.selfSigned ? await SelfSigned.open(own) : undefined;
  const certificate = await ServerCertificate.open({ ...tls, issuer, health, log, now });
  warnOfSlowKey(certificate, log);
  releasers.every(CERTIFICATE_CHECK_MS, () => void certificate.check());
  return certificate;
}

/** Explains a failure to listen, with the keys to change. */
export function explained(listen: Listen, section: 'mqtt' | 'http'): Listen {
  return async (host, port, certificate) => {
    try {
      return await listen(host, port, certificate);
    } catch (error) {
      const isTls = certificate !== undefined;
      const keys = {
        host: isTls ? 'tls.host' : `${section}.host`,
        port: `${section}.${isTls ? 'tlsPort' : 'port'}`,
      };
      const code = error instanceof GatewayError ? systemErrorCode(error.cause) : undefined;
      const advice = code === undefined ? undefined : adviceFor(code, host, port, keys);
      if (advice === undefined) throw error;
      throw new GatewayError('start-failed', advice);
    }
  };
}

function adviceFor(
  code: string,
  host: string,
  port: number,
  keys: AddressKeys,
): string | undefined {
  const other = keys.port.startsWith('mqtt') ? 'broker' : 'server';
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use (${code}): is another ${other} running? End it, or set ${keys.port}`;
    case 'EACCES':
      return `port ${port} on ${host} must not be opened (${code}): run with CAP_NET_BIND_SERVICE, or set ${keys.port}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `this machine has no address ${host} (${code}): set ${keys.host}`;
    default:
      return undefined;
  }
}

function listenersOf(
  { config, releasers, log, elapsed, maxOpenFiles }: Foundation,
  { watch }: SiteParts,
  broker: Broker,
  app: HttpApp,
): { mqtt: Listen; http: Listen } {
  const { connectionsPerSecond, connectionBurst } = config.limits;
  let networks = ownNetworks();
  releasers.every(LOOK_AT_NETWORKS_MS, () => {
    networks = ownNetworks();
  });
  const requiresClients = config.tls?.clientCertificates === 'required';
  const isOfHome = (network: string) => networks.has(network);
  const rate = new ConnectionRate(connectionsPerSecond, connectionBurst, elapsed, isOfHome);
  const circle = new Circle();
  const guard = {
    circle,
    admits: (address: string) => rate.admits(address),
    maxConnections: Math.min(config.http.maxConnections, connectionShares(maxOpenFiles).http),
    maxConnectionsPerAddress: config.http.maxConnectionsPerAddress,
    exceeded: (quota: Quota, network: string) => watch.exceeded(quota, `address:${network}`),
  };
  const webSockets = new WebSocketListener({
    rate,
    broker,
    watch,
    refuse: (error, socket) => answerUnreadable(error, socket),
  });
  const protocolSwitch = {
    takes: webSockets.takes.bind(webSockets),
    upgrade: webSockets.upgrade.bind(webSockets),
  };
  const open: { readonly stop: (deadlineMs: number) => void | Promise<void> }[] = [];
  // All in parallel: none accepts connections, or uses up the time, while another waits for requests in hand.
  releasers.add(async () => {
    webSockets.stop();
    await Promise.all(open.map((listener) => listener.stop(HTTP_CLOSE_DEADLINE_MS)));
  });
  return {
    mqtt: (host, port, certificate) => {
      const place = { host, port, certificate, requiresClients };
      const listener = new TcpListener({ ...place, rate, circle, broker, log });
      open.push(listener);
      return listener.start();
    },
    http: (host, port, certificate) => {
      const place = { host, port, certificate };
      const listener = new HttpListener({ ...place, app, protocolSwitch, guard, log });
      open.push(listener);
      return listener.start();
    },
  };
}

/** Warns of an RSA key that costs the processor milliseconds per handshake. */
function warnOfSlowKey({ cert }: ServerCertificate, log: Logger): void {
  const { asymmetricKeyType, asymmetricKeyDetails } = new X509Certificate(cert).publicKey;
  const keyBits = asymmetricKeyDetails?.modulusLength ?? 0;
  if (asymmetricKeyType?.startsWith('rsa') !== true || keyBits <= MAX_RSA_KEY_BITS) return;
  log.warn(
    { keyBits },
    'the TLS key is a long RSA one, which slows every handshake: use ECDSA P-256',
  );
}
