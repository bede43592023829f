import { FOOTAGE_TYPES, type FootageType } from '../domain/alarm.js';
import { newRecording, type Recording } from '../domain/footage.js';
import type { Device } from '../domain/site.js';
import { formatTime } from '../domain/time.js';
import type { AlarmRecord } from '../store/history/alarm-history.js';
import type { Actor, AuditAction, AuditEntry, AuditTrail } from './audit-trail.js';

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

export type FootageUrls = Readonly<Record<FootageType, string | null>>;

/** The caller for whom URLs are made, and the URL at which they reach the gateway. */
export interface UrlReceiver {
  readonly actor: Actor;
  /** Without a trailing `/`. */
  readonly gatewayUrl: string;
}

export interface PreparedUpload {
  /** The object key that the device names in its alarm. */
  readonly key: string;
  readonly uploadUrl: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** The footage of alarms. Every URL is in the audit trail before it is handed out. */
export class Footage {
  readonly #store: FootageStore;
  readonly #audit: AuditTrail;
  readonly #now: () => number;

  constructor(store: FootageStore, audit: AuditTrail, now: () => number) {
    this.#store = store;
    this.#audit = audit;
    this.#now = now;
  }

  /**
   * Makes download URLs for a page of alarms, in their order; null without a recording.
   *
   * @throws GatewayError `store-unavailable` when they cannot be recorded
   */
  async links(alarms: readonly AlarmRecord[], receiver: UrlReceiver): Promise<FootageUrls[]> {
    const terms = this.#terms(receiver);
    const urls = await Promise.all(alarms.map(({ footage }) => this.#urlsOf(footage, terms)));
    const withFootage = alarms.filter(({ footage }) => Object.values(footage).length > 0);
    if (withFootage.length === 0) return urls;
    // One record per page and location: with one per URL, readers could push out the records about themselves.
    const locationIds = new Set(withFootage.map(({ location }) => location.id));
    const entries = Array.from(locationIds, (locationId) => {
      const shown = withFootage.filter(({ location }) => location.id === locationId);
      const keys = shown.flatMap(({ footage }) => Object.values(footage));
      return this.#entry('footage.url-made', receiver, {
        locationId,
        resourceId: onlyDeviceOf(shown) ?? locationId,
        details: { keys: JSON.stringify(keys) },
      });
    });
    await this.#audit.record(entries);
    return urls;
  }

  /**
   * Makes a key for a new recording of the device, and the URL to upload it to.
   *
   * @param contentType in lower case, of the type (`isFootageContentType`)
   * @throws GatewayError `store-unavailable` when the URL cannot be recorded
   */
  async prepareUpload(
    device: Device,
    type: FootageType,
    contentType: string,
    receiver: UrlReceiver,
  ): Promise<PreparedUpload> {
    const terms = this.#terms(receiver);
    const recording = newRecording(device.id, type, contentType);
    const uploadUrl = await this.#store.uploadUrl(recording, terms);
    const { key } = recording;
    const concerned = { locationId: device.locationId, resourceId: device.id, details: { key } };
    await this.#audit.record([this.#entry('footage.upload-url-made', receiver, concerned)]);
    return { key, uploadUrl, expiresAt: formatTime(terms.fromMs + FOOTAGE_URL_VALID_MS) };
  }

  async #urlsOf(keys: AlarmRecord['footage'], terms: UrlTerms): Promise<FootageUrls> {
    const urls: Record<FootageType, string | null> = { video: null, audio: null };
    for (const type of FOOTAGE_TYPES) {
      const key = keys[type];
      if (key !== undefined) urls[type] = await this.#store.downloadUrl(key, terms);
    }
    return urls;
  }

  /** The terms of a URL made now, in whole seconds, as signatures require. */
  #terms({ gatewayUrl }: UrlReceiver): UrlTerms {
    return { fromMs: Math.floor(this.#now() / 1000) * 1000, gatewayUrl };
  }

  #entry(
    action: AuditAction,
    { actor }: UrlReceiver,
    concerned: Pick<AuditEntry, 'locationId' | 'resourceId' | 'details'>,
  ): AuditEntry {
    return { action, actor, atMs: this.#now(), ...concerned };
  }
}

/** The device of all alarms, undefined when there are several. */
function onlyDeviceOf(alarms: readonly AlarmRecord[]): string | undefined {
  const [deviceId, ...others] = new Set(alarms.map((alarm) => alarm.device.id));
  return others.length === 0 ? deviceId : undefined;
}
