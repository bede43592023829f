import type { RequestOpts } from '@oazapfts/runtime';
import { defaults } from './generated.js';

/** Matches everything that exists (RFC 9110, 13.1.1). */
export const ANY_TAG = '*';

/** The entity tag of an answer, to send with a change of what was read. */
export function tagOf(response: Response): string {
  // A compressing proxy makes it weak, and a weak tag permits no change (RFC 9110, 8.8.3.3).
  return response.headers.get('ETag')?.replace(/^W\//, '') ?? ANY_TAG;
}

/** Reads something together with its entity tag. */
export async function readTagged<Data>(
  read: (options: RequestOpts) => Promise<Data>,
): Promise<{ readonly data: Data; readonly tag: string }> {
  let tag = ANY_TAG;
  const data = await read({
    fetch: async (input, init) => {
      const response = await (defaults.fetch ?? fetch)(input, init);
      tag = tagOf(response);
      return response;
    },
  });
  return { data, tag };
}
