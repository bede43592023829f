import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import type { S3Options } from '../../src/footage/s3-footage-store.js';

const BUCKET = 'footage';
/** The server's only account. */
const ACCOUNT = 'S3RVER';

/** A real S3 server, which checks signatures of version 4 and their expiry. */
export class S3Server {
  readonly #directory = mkdtempSync(join(tmpdir(), 'gateway-s3-'));
  readonly #server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: this.#directory,
    configureBuckets: [{ name: BUCKET }],
  });
  #port = 0;

  async start(): Promise<void> {
    const { port } = await this.#server.run();
    this.#port = port;
  }

  async stop(): Promise<void> {
    await this.#server.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get options(): S3Options {
    return {
      endpoint: `http://127.0.0.1:${this.#port}`,
      region: 'eu-central-1',
      bucket: BUCKET,
      pathStyle: true,
      accessKeyId: ACCOUNT,
      secretAccessKey: ACCOUNT,
    };
  }
}
