import type { RequestOpts } from '@oazapfts/runtime';
import { defaults } from './generated.js';

/** Matches everything that there is (RFC 9110, 13.1.1). */
export const ANY_TAG = '*';

/** The entity tag of an answer, to be sent with the change of what was read. */
export function tagOf(response: Response): string {
  return response.headers.get('ETag') ?? ANY_TAG;
}

/** Reads something for its entity tag alone. */
export async function readTag(read: (options: RequestOpts) => Promise<unknown>): Promise<string> {
  let tag = ANY_TAG;
  await read({
    fetch: async (input, init) => {
      const response = await (defaults.fetch ?? fetch)(input, init);
      tag = tagOf(response);
      return response;
    },
  });
  return tag;
}
