import { z } from 'zod';
import { ADMIN_TOKEN } from '../../../test/former/gateway/running-gateway.js';

const pageSchema = z.object({ nextCursor: z.string().nullable(), events: z.array(z.unknown()) });

/** Reads pages of a location's history, cursor by cursor; after the last it starts over. */
export class Pages {
  readonly durationsMs: number[] = [];
  readonly #url: string;
  #cursor: string | null = null;

  constructor(httpUrl: string, locationId: string, query: Readonly<Record<string, string>>) {
    this.#url = `${httpUrl}/care-homes/${locationId}/alarms?${new URLSearchParams(query)}`;
  }

  /** @throws Error when the answer is not a page with alarms */
  async read(): Promise<void> {
    const after = this.#cursor === null ? '' : `&cursor=${encodeURIComponent(this.#cursor)}`;
    const begunMs = performance.now();
    const response = await fetch(this.#url + after, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const text = await response.text();
    this.durationsMs.push(performance.now() - begunMs);
    if (!response.ok) throw new Error(`a page was answered with ${response.status}: ${text}`);
    const { nextCursor, events } = pageSchema.parse(JSON.parse(text));
    if (events.length === 0) throw new Error('a page was empty');
    this.#cursor = nextCursor;
  }
}
