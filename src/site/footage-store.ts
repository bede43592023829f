import type { Recording } from '../domain/footage.js';

/** Specification 8. */
export const FOOTAGE_URL_VALID_MS = 10 * 60_000;

/** Validity and host of a signed URL. */
export interface UrlTerms {
  /** Milliseconds since 1970, whole seconds: it is valid for `FOOTAGE_URL_VALID_MS` from then on. */
  readonly fromMs: number;
  /** Where the caller reaches the gateway, without a `/` at its end. */
  readonly gatewayUrl: string;
}

/** Signs URLs of recordings. Signing asks no server: whether a recording exists shows on use. */
export interface FootageStore {
  /** A signed URL to GET the object from. */
  downloadUrl(key: string, terms: UrlTerms): Promise<string>;
  /** A signed URL to PUT the recording to, with its content type as `Content-Type`. */
  uploadUrl(recording: Recording, terms: UrlTerms): Promise<string>;
}

/** One request to a signed URL of the gateway's own. */
export interface SignedRequest {
  readonly method: 'GET' | 'PUT';
  readonly key: string;
  /** The query as it was sent, without `?`. */
  readonly query: string;
}

/** An upload as it comes in. */
export interface Upload {
  readonly recording: Recording;
  /** Value of `Content-Length`, undefined without one. */
  readonly announcedBytes: number | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A recording that is there. */
export interface RecordingFile {
  readonly recording: Recording;
  readonly bytes: number;
  readonly modifiedAtMs: number;
  /** Fills the buffer from this place on; returns the number of bytes read. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** To be called once nothing more is read. */
  close(): Promise<void>;
}

/** The recordings that the gateway keeps itself, as its HTTP side takes and serves them. */
export interface FootageFiles {
  /** @throws GatewayError `forbidden` when the signature is wrong, for something else, or expired */
  authorize(request: SignedRequest): void;

  /** @throws GatewayError `footage-not-found`, `store-unavailable` */
  open(key: string): Promise<RecordingFile>;

  /**
   * Keeps the whole of it, or nothing. After a failure the rest of it has not been read.
   *
   * @throws GatewayError `body-too-large`, `footage-already-uploaded`, `insufficient-storage`,
   *   `invalid-request` when it ends early, `store-unavailable`, also when the device has too many
   *   uploads under way
   */
  receive(upload: Upload): Promise<void>;
}
