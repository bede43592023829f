import { z } from 'zod';
import type { DescribedHttp } from './described-http.js';

/** Checks, in every test file, a gateway's answers to `fetch` against its own document. */

const titleSchema = z.looseObject({
  info: z.looseObject({ title: z.literal('Care-home gateway') }),
});
const originalFetch = globalThis.fetch;
const documents = new Map<string, Promise<DescribedHttp | undefined>>();

/** The description of the gateway at the origin; undefined when there is none. */
export function describedAt(origin: string): Promise<DescribedHttp | undefined> {
  const known = documents.get(origin);
  if (known !== undefined) return known;
  const asked = ask(origin);
  documents.set(origin, asked);
  return asked;
}

async function ask(origin: string): Promise<DescribedHttp | undefined> {
  try {
    const document: unknown = await (await originalFetch(`${origin}/openapi.json`)).json();
    if (!titleSchema.safeParse(document).success) return undefined;
    // Only where a gateway answers: compiling schemas is the dearest import of a test file.
    const { DescribedHttp } = await import('./described-http.js');
    return new DescribedHttp(document);
  } catch {
    // The gateway has ended meanwhile, or the server is no gateway: a store for recordings, for
    // one.
    documents.delete(origin);
    return undefined;
  }
}

globalThis.fetch = async (input, init) => {
  const response = await originalFetch(input, init);
  const { origin, pathname, search } = new URL(input instanceof Request ? input.url : input);
  const described = await describedAt(origin);
  described?.check({
    method: init?.method ?? (input instanceof Request ? input.method : 'GET'),
    path: pathname + search,
    request: { mediaType: undefined, text: undefined },
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.clone().text(),
  });
  return response;
};
