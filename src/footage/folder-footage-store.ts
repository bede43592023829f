import type { Recording } from '../domain/footage.js';
import { FOOTAGE_URL_VALID_MS, type FootageStore, type UrlTerms } from '../site/footage-store.js';
import { objectPath } from './object-path.js';
import type { UrlSignatures } from './url-signatures.js';

/** Recordings in the gateway's own folder, received and served under `/footage/`. */
export class FolderFootageStore implements FootageStore {
  readonly #signatures: UrlSignatures;

  constructor(signatures: UrlSignatures) {
    this.#signatures = signatures;
  }

  async downloadUrl(key: string, terms: UrlTerms): Promise<string> {
    return this.#url('GET', key, terms);
  }

  async uploadUrl({ key }: Recording, terms: UrlTerms): Promise<string> {
    return this.#url('PUT', key, terms);
  }

  #url(method: 'GET' | 'PUT', key: string, { gatewayUrl, fromMs }: UrlTerms): string {
    const query = this.#signatures.queryFor(method, key, fromMs + FOOTAGE_URL_VALID_MS);
    return `${gatewayUrl}/footage/${objectPath(key)}?${query}`;
  }
}
