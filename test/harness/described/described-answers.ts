import { afterAll } from 'vitest';
import { describedAt, forgetOrigins, originalFetch } from './described-origins.js';

/** Checks, in every test file, a gateway's answers to `fetch` against its own document. */

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

// Files share a process, and each runs this again.
afterAll(() => {
  globalThis.fetch = originalFetch;
  forgetOrigins();
});
