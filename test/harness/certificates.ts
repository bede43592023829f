import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const DAYS = 2;

/** PEM files. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A test's own certificate authority; its files are in the given directory. */
export class Authority {
  readonly certFile: string;
  readonly #keyFile: string;
  readonly #directory: string;
  readonly #name: string;

  private constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
    this.certFile = join(directory, `${name}.crt`);
    this.#keyFile = join(directory, `${name}.key`);
  }

  static async create(directory: string, name = 'authority'): Promise<Authority> {
    const authority = new Authority(directory, name);
    await openssl([
      'req',
      '-x509',
      '-nodes',
      '-days',
      String(DAYS),
      '-subj',
      `/CN=${name} of the tests`,
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-addext',
      'keyUsage=critical,keyCertSign,cRLSign',
      '-keyout',
      authority.#keyFile,
      '-out',
      authority.certFile,
    ]);
    return authority;
  }

  /**
   * Issues a server certificate for a name: `DNS:localhost` or `IP:127.0.0.1`.
   *
   * @param days how long it is valid; with -1 it has expired
   * @param file the name of its files
   */
  server(name: string, days = DAYS, file = 'server'): Promise<Certificate> {
    const extensions = `subjectAltName=${name}\nextendedKeyUsage=serverAuth`;
    return this.#issue(file, '/CN=upstream', extensions, days);
  }

  /**
   * @param uri one that names the client as well
   * @param file the name of its files
   */
  client(name: string, uri?: string, file = `client-${name}`): Promise<Certificate> {
    const names = uri === undefined ? '' : `subjectAltName=URI:${uri}\n`;
    return this.#issue(file, `/CN=${name}`, `${names}extendedKeyUsage=clientAuth`);
  }

  async #issue(
    file: string,
    subject: string,
    extensions: string,
    days = DAYS,
  ): Promise<Certificate> {
    const path = (suffix: string) => join(this.#directory, `${this.#name}-${file}.${suffix}`);
    await writeFile(path('ext'), extensions);
    await openssl([
      'req',
      '-new',
      '-nodes',
      '-subj',
      subject,
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-keyout',
      path('key'),
      '-out',
      path('csr'),
    ]);
    await openssl([
      'x509',
      '-req',
      '-days',
      String(days),
      '-in',
      path('csr'),
      '-extfile',
      path('ext'),
      '-CA',
      this.certFile,
      '-CAkey',
      this.#keyFile,
      '-CAcreateserial',
      '-out',
      path('crt'),
    ]);
    return { certFile: path('crt'), keyFile: path('key') };
  }
}

async function openssl(args: readonly string[]): Promise<void> {
  await run('openssl', args);
}
