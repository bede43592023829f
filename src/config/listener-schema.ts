import { z } from 'zod';

/** Where the gateway listens, and what one connection may do (contract 1 and 5). */

const LOOPBACK = '127.0.0.1';
/** IPv6 and IPv4; IPv4 where the machine has no IPv6 (`listen`). */
export const DEFAULT_TLS_HOST = '::';
const MAX_PORT = 65_535;
/** The largest packet MQTT 3.1.1 can express, 2.2.3: a remaining length of 268,435,455 bytes. */
const MAX_MQTT_PACKET_BYTES = 268_435_455;
/** The largest keep-alive, and the number of packet identifiers: both are 16 bits wide in MQTT. */
const MAX_UINT16 = 65_535;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const host = z.string().regex(/^[A-Za-z0-9._:%-]{1,255}$/, 'must be an IP address or a host name');
const port = z.int().min(0).max(MAX_PORT);
const filePath = z.string().min(1, 'must not be empty');
const count = z.int().min(1);

const publicUrl = z
  .string()
  .refine(isWebUrl, 'must be an http:// or https:// URL without credentials, query and fragment')
  // Paths follow it.
  .transform((text) => text.replace(/\/+$/, ''));

/** The origin of a web application: scheme, host and port (RFC 6454). */
const origin = z
  .string()
  .refine(
    (text) => isWebUrl(text) && new URL(text).pathname === '/' && !text.includes('*'),
    'must be the origin of a web application, such as https://dashboard.example.org',
  )
  .transform((text) => new URL(text).origin);

export const tlsSchema = z.strictObject({
  host: host
    .default(DEFAULT_TLS_HOST)
    .describe(
      'the address of the TLS listeners: all of IPv6 and IPv4; IPv4 alone where the machine has no IPv6',
    ),
  certFile: filePath.optional().meta({
    description: 'the certificate chain, PEM; needed without selfSigned',
    examples: ['/etc/care-home-gateway/tls.crt'],
  }),
  keyFile: filePath.optional().meta({
    description: 'the private key, PEM; needed without selfSigned',
    examples: ['/etc/care-home-gateway/tls.key'],
  }),
  selfSigned: z
    .boolean()
    .default(false)
    .describe(
      'instead of both files: whether the gateway makes an authority, whose certificate is at /ca.pem, and renews a certificate of its own',
    ),
  clientCaFile: filePath.optional().meta({
    description:
      'the authority of client certificates, PEM: a device whose id is the CN or a URI in its certificate needs no password',
    examples: ['/etc/care-home-gateway/devices-ca.crt'],
  }),
  clientCertificates: z
    .enum(['optional', 'required'])
    .optional()
    .meta({
      description:
        'required: MQTT over TLS takes no client without a certificate of clientCaFile; HTTPS, which browsers use, does. Left out: optional',
      examples: ['required'],
    }),
});

/** The keys as loaded: the files are known also if the gateway makes them. */
export type TlsConfig = z.output<typeof tlsSchema> & {
  readonly certFile: string;
  readonly keyFile: string;
};

export const mqttSchema = z.strictObject({
  host: host.default(LOOPBACK).describe('the address of the plaintext listener'),
  port: port.default(1883).describe('its port; 0 picks a free one, which the ready line names'),
  tlsPort: port.default(8883).describe('the port of the TLS listener'),
  maxPacketBytes: count
    .max(MAX_MQTT_PACKET_BYTES)
    .default(262_144)
    .describe('a larger packet closes the connection'),
  maxAlarmBytes: count
    .max(MAX_MQTT_PACKET_BYTES)
    .default(16_384)
    .describe('a larger alarm is an invalid publish, and acknowledged all the same'),
  maxKeepAliveSeconds: count
    .max(MAX_UINT16)
    .default(300)
    .describe('the longest keep-alive; a longer one, or none, counts as this'),
  maxInFlight: count
    .max(MAX_UINT16)
    .default(100)
    .describe('messages sent to one subscriber and not yet acknowledged'),
});

export const httpSchema = z.strictObject({
  host: host
    .default(LOOPBACK)
    .describe('the address of the plaintext listener, also for MQTT over WebSocket at /mqtt'),
  port: port.default(8080).describe('its port; 0 picks a free one'),
  tlsPort: port.default(8443).describe('the port of the HTTPS listener'),
  maxBodyBytes: count.max(MAX_BODY_BYTES).default(65_536).describe('a larger body is 413'),
  maxConnections: count
    .default(10_000)
    .describe(
      'connections of each listener, MQTT over WebSocket included; one more takes the place of the one that is idle for longest',
    ),
  maxConnectionsPerAddress: count
    .default(1_000)
    .describe(
      "of them from one address, this machine excepted; raise it when a proxy on another machine passes on everybody's connections",
    ),
  openMetrics: z.boolean().default(false).describe('whether /metrics needs no token from anywhere'),
  publicUrl: publicUrl.optional().meta({
    description:
      'where clients reach the gateway, as behind a proxy: what footage URLs begin with. Left out: scheme and Host of the request. Once set, /metrics needs a token from this machine too',
    examples: ['https://gateway.example.org'],
  }),
  securityContact: z
    .string()
    .refine(isContact, 'must be a mailto: or https: URI')
    .optional()
    .meta({
      description: 'whom to tell of a vulnerability, in /.well-known/security.txt (RFC 9116)',
      examples: ['mailto:security@example.org'],
    }),
  allowedOrigins: z
    .array(origin)
    .default([])
    .describe(
      'origins of web applications on other hosts that may call the interface from a browser (CORS), such as https://dashboard.example.org',
    ),
});

/** Whether a line of text is a URI that RFC 9116, 2.5.3 takes. */
function isContact(text: string): boolean {
  return /^(?:mailto:|https:\/\/)[!-~]+$/.test(text) && URL.canParse(text);
}

/** Whether the text is a web URL without credentials, query and fragment. */
export function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  const isPlain = username === '' && password === '' && search === '' && hash === '';
  return (protocol === 'http:' || protocol === 'https:') && isPlain;
}
