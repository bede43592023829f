import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { FieldFault } from '../errors.js';
import { whyUnreadable } from './file.js';

/** Files of a certificate and its private key. */
export interface Certificate {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Files for TLS to a server. */
export interface ClientTls extends Certificate {
  readonly caFile?: string | undefined;
}

/** Checks the files for TLS to a server; otherwise, only a connection to it would read them. */
export function clientTlsFaults(keys: ClientTls, cwd: string): FieldFault[] {
  const faults = certificateFaults(keys, cwd);
  if (keys.caFile !== undefined)
    faults.push(...readableFaults('caFile', resolve(cwd, keys.caFile)));
  if (keys.certFile !== undefined && keys.keyFile === undefined) {
    faults.push({ path: 'keyFile', message: 'is missing, a certFile is given' });
  }
  if (keys.keyFile !== undefined && keys.certFile === undefined) {
    faults.push({ path: 'certFile', message: 'is missing, a keyFile is given' });
  }
  return faults;
}

/** Checks that the files are readable, hold PEM of their kind, and belong together. */
export function certificateFaults({ certFile, keyFile }: Certificate, cwd: string): FieldFault[] {
  const cert = certFile === undefined ? undefined : resolve(cwd, certFile);
  const key = keyFile === undefined ? undefined : resolve(cwd, keyFile);
  const faults = [
    ...(cert === undefined ? [] : pemFaults('certFile', cert, 'cert', 'certificate')),
    ...(key === undefined ? [] : pemFaults('keyFile', key, 'key', 'private key')),
  ];
  if (cert === undefined || key === undefined || faults.length > 0) return faults;
  if (isUsable({ cert, key })) return [];
  return [{ path: 'keyFile', message: 'is not the key of the certificate in certFile' }];
}

function pemFaults(path: string, file: string, role: 'cert' | 'key', what: string): FieldFault[] {
  const faults = readableFaults(path, file);
  if (faults.length > 0 || isUsable({ [role]: file })) return faults;
  return [{ path, message: `holds no usable ${what} in PEM` }];
}

/** Whether OpenSSL accepts the PEM; its own words say less than the name of the file. */
function isUsable({ cert, key }: { readonly cert?: string; readonly key?: string }): boolean {
  try {
    createSecureContext({
      ...(cert !== undefined && { cert: readFileSync(cert) }),
      ...(key !== undefined && { key: readFileSync(key) }),
    });
    return true;
  } catch {
    return false;
  }
}

function readableFaults(path: string, file: string): FieldFault[] {
  const problem = whyUnreadable(file);
  return problem === undefined ? [] : [{ path, message: problem }];
}

/** Puts the faults of a section's keys under its name. */
export function within(section: string, faults: readonly FieldFault[]): FieldFault[] {
  return faults.map(({ path, message }) => ({ path: `${section}.${path}`, message }));
}
