import type { Recording } from '../domain/footage.js';

/** How long a signed URL is valid (contract 2). */
export const FOOTAGE_URL_VALID_MS = 10 * 60_000;

/** Validity and host of a signed URL. */
export interface UrlTerms {
  /** Start of the validity of `FOOTAGE_URL_VALID_MS`: milliseconds since 1970, in whole seconds. */
  readonly fromMs: number;
  /** The URL at which the caller reaches the gateway, without a trailing `/`. */
  readonly gatewayUrl: string;
}

/** Signs URLs of recordings, without checking whether they exist. */
export interface FootageStore {
  /** A signed URL to GET the object from. */
  downloadUrl(key: string, terms: UrlTerms): Promise<string>;
  /** A signed URL to PUT the recording to, with its content type as `Content-Type`. */
  uploadUrl(recording: Recording, terms: UrlTerms): Promise<string>;
}

/** A request to one of the gateway's own signed URLs. */
export interface SignedRequest {
  readonly method: 'GET' | 'PUT';
  readonly key: string;
  /** The query as it was sent, without `?`. */
  readonly query: string;
}

/** An incoming upload. */
export interface Upload {
  readonly recording: Recording;
  /** Value of `Content-Length`, undefined without one. */
  readonly announcedBytes: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** An open recording. */
export interface RecordingFile {
  readonly recording: Recording;
  readonly bytes: number;
  readonly modifiedAtMs: number;
  /** Reads from this position into the buffer; returns the number of bytes. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** Closes the file; must be called. */
  close(): Promise<void>;
}

/** The recordings kept by the gateway itself, as served over HTTP. */
export interface FootageFiles {
  /** @throws GatewayError `forbidden` when the signature is wrong, of another request, or expired */
  authorize(request: SignedRequest): void;

  /** @throws GatewayError `footage-not-found`, `store-unavailable` */
  open(key: string): Promise<RecordingFile>;

  /**
   * Stores the whole upload or nothing. After a failure the rest of it is unread.
   *
   * @throws GatewayError `body-too-large`, `footage-already-uploaded`, `insufficient-storage`,
   *   `invalid-request` when it ends early, `store-unavailable`, `too-many-requests` when the device has
   *   too many uploads under way
   */
  receive(upload: Upload): Promise<void>;
}
