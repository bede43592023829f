import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const KEYS = { rsa: ['rsa:4096'], ecdsa: ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] };

/** Creates a certificate in the directory. Resolves to the environment of a gateway with TLS listeners. */
export async function tlsEnvironment(directory: string, kind: 'rsa' | 'ecdsa') {
  const [certFile, keyFile] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  await run('openssl', [
    'req',
    '-x509',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-newkey',
    ...KEYS[kind],
    '-keyout',
    keyFile,
    '-out',
    certFile,
  ]);
  return {
    GATEWAY_TLS_CERT_FILE: certFile,
    GATEWAY_TLS_KEY_FILE: keyFile,
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  };
}
