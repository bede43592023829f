/** Servers that the gateway sends to over HTTP: receivers of webhooks, and an S3 store for recordings. */
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import S3rver from '@20minutes/s3rver';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import type { S3Options } from '../../src/footage/s3.js';

/** The secret that its signatures are made with. */
export const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const messageBody = z.strictObject({
  topic: z.string(),
  payload: z.looseObject({ id: z.string().optional() }).nullable(),
});

/** A request that arrived with a valid signature. */
export interface ReceivedWebhook {
  readonly topic: string;
  /** Of the payload. */
  readonly id: string | undefined;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  /** The status of the answer; undefined if it got none. */
  readonly status: number | undefined;
}

type WebhookAnswer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Closes the connection. */
  | 'hang up'
  /** Says nothing. */
  | 'silence'
  /** Takes it, and keeps answering for ever. */
  | 'endless';

/** A receiver of webhooks, which checks each signature as its users do. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** The answer to the next requests. */
  answer: (request: Omit<ReceivedWebhook, 'status'>) => WebhookAnswer = () => ({ status: 200 });
  readonly #server: Server;
  readonly #webhook = new Webhook(WEBHOOK_SECRET);

  private constructor(tls: ServerOptions | undefined) {
    const receive: RequestListener = async (request, response) => {
      const text = (await buffer(request)).toString();
      const { headers, method } = request;
      const signed = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      );
      this.#webhook.verify(text, signed);
      if (method !== 'POST' || headers['content-type'] !== 'application/json') {
        throw new Error(`${method} ${headers['content-type']}`);
      }
      const { topic, payload } = messageBody.parse(JSON.parse(text));
      const one = { topic, id: payload?.id, text, headers };
      const answer = this.answer(one);
      const status = typeof answer === 'object' ? answer.status : undefined;
      this.received.push({ ...one, status: answer === 'endless' ? 200 : status });
      if (answer === 'hang up') request.socket.destroy();
      else if (answer === 'endless') new Endless().pipe(response);
      else if (answer !== 'silence') response.writeHead(answer.status, answer.headers).end('ok');
    };
    this.#server = tls === undefined ? createServer(receive) : createSecureServer(tls, receive);
  }

  /** @param tls undefined: without TLS */
  static async start(port = 0, tls?: ServerOptions): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(tls);
    await new Promise<void>((resolve) => receiver.#server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    const address = this.#server.address();
    return z.custom<AddressInfo>().parse(address).port;
  }

  /** The ids of the messages that were taken, in order. */
  get taken(): string[] {
    return this.received.flatMap(({ id, status = 0 }) =>
      id !== undefined && status >= 200 && status < 300 ? [id] : [],
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

class Endless extends Readable {
  override _read(bytes: number): void {
    this.push('.'.repeat(bytes));
  }
}

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
