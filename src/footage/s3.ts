import { AwsV4Signer } from 'aws4fetch';
import { parseRecordingKey, type Recording } from '../domain/footage.js';
import { GatewayError } from '../errors.js';
import { FOOTAGE_URL_VALID_MS, type FootageStore, type UrlTerms } from '../site/footage.js';
import { objectPath } from './signed-urls.js';

const REMOVE_TIMEOUT_MS = 10_000;

export interface S3Options {
  /** `https://s3.example.org` */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Whether the bucket is the first level of the path, or the first label of the host name. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Recordings in a bucket of an S3-compatible server.
 *
 * URLs are presigned with Signature Version 4, which is arithmetic: the gateway never asks the server;
 * clients and cameras talk to it directly.
 */
export class S3FootageStore implements FootageStore {
  readonly #options: S3Options;
  readonly #bucketUrl: string;
  /** Signing keys by day. */
  readonly #keys = new Map<string, ArrayBuffer>();

  constructor(options: S3Options) {
    const { endpoint, bucket, pathStyle } = options;
    const { protocol, host } = new URL(endpoint);
    this.#options = options;
    this.#bucketUrl = pathStyle
      ? `${protocol}//${host}/${bucket}`
      : `${protocol}//${bucket}.${host}`;
  }

  /** The origin of all its URLs. */
  get origin(): string {
    return new URL(this.#bucketUrl).origin;
  }

  downloadUrl(key: string, terms: UrlTerms): Promise<string> {
    const url = this.#urlOf(key);
    // What bypassed the gateway may be anything, including a page of the bucket's host.
    const contentType = parseRecordingKey(key)?.contentType;
    const disposition = contentType === undefined ? 'attachment' : 'inline';
    url.searchParams.set('response-content-disposition', disposition);
    if (contentType !== undefined) url.searchParams.set('response-content-type', contentType);
    return this.#sign('GET', url, {}, terms);
  }

  uploadUrl({ key, contentType }: Recording, terms: UrlTerms): Promise<string> {
    return this.#sign('PUT', this.#urlOf(key), { 'Content-Type': contentType }, terms);
  }

  /** Deletes a recording; one that is not there counts as deleted. @throws GatewayError `store-unavailable` */
  async remove(key: string, nowMs: number): Promise<void> {
    const fromMs = Math.floor(nowMs / 1_000) * 1_000;
    const url = await this.#sign('DELETE', this.#urlOf(key), {}, { fromMs, gatewayUrl: '' });
    const signal = AbortSignal.timeout(REMOVE_TIMEOUT_MS);
    const response = await fetch(url, { method: 'DELETE', signal }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok === true || response?.status === 404) return;
    const detail = 'The server of the recordings does not delete one.';
    throw new GatewayError('store-unavailable', detail);
  }

  #urlOf(key: string): URL {
    return new URL(`${this.#bucketUrl}/${objectPath(key)}`);
  }

  /** @param headers must be sent unchanged, or the signature does not match */
  async #sign(
    method: string,
    url: URL,
    headers: Readonly<Record<string, string>>,
    { fromMs }: UrlTerms,
  ): Promise<string> {
    const { region, accessKeyId, secretAccessKey } = this.#options;
    url.searchParams.set('X-Amz-Expires', String(FOOTAGE_URL_VALID_MS / 1000));
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers,
      region,
      accessKeyId,
      secretAccessKey,
      service: 's3',
      signQuery: true,
      // Otherwise the library leaves Content-Type unsigned, and any type could be uploaded.
      allHeaders: true,
      datetime: amzDate(fromMs),
      cache: this.#keys,
    });
    return (await signer.sign()).url.href;
  }
}

/** `20260101T063000Z` */
function amzDate(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
}
