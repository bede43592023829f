/** The five routes of one kind of thing: list, create, get, change and delete, the last three conditional. */

import type { z } from 'zod';
import type { Caller } from './caller.js';
import { entityTag } from './conditional.js';
import type { Ids, Right } from './rights.js';
import { type Call, created, done, type IdsIn, json, type Routes, route } from './route.js';

type Problems = Readonly<Record<number, string>>;

/** What a resource is, and what its routes do. */
interface Resource<
  ListId extends string,
  Id extends string,
  View extends z.ZodType,
  CreatedView extends z.ZodType,
  New extends z.ZodType,
  Change extends z.ZodType,
> {
  /** In the singular, as in operation ids: `Room`. */
  readonly name: string;
  readonly view: View;
  /** What is shown of it now. @throws GatewayError when it does not exist */
  readonly show: (path: Ids<Id>, caller: Caller) => z.output<View>;
  /** Its entity tag, by default of all that is shown. */
  readonly tagOf?: (view: z.output<View>) => string;
  readonly list: {
    readonly right: Right<ListId>;
    readonly summary?: string;
    readonly handle: (call: Call<ListId>) => z.output<View>[];
  };
  readonly create: {
    readonly right: Right<ListId>;
    readonly summary?: string;
    readonly body: New;
    /** What is shown of a new one. */
    readonly view: CreatedView;
    readonly problems?: Problems;
    readonly handle: (call: Call<ListId, unknown, z.output<New>>) => Promise<z.output<CreatedView>>;
  };
  readonly get: Right<Id>;
  readonly change: {
    readonly right: Right<Id>;
    readonly summary: string;
    readonly body: Change;
    readonly handle: (call: Call<Id, unknown, z.output<Change>>) => Promise<unknown>;
  };
  readonly remove: {
    readonly right: Right<Id>;
    readonly summary: string;
    readonly problems?: Problems;
    readonly handle: (call: Call<Id>) => Promise<void>;
  };
}

/**
 * Makes the routes.
 *
 * @param collection the path of all of them
 * @param idName the name of the id in the path of one of them
 */
export function resource<
  const Path extends string,
  const Name extends string,
  View extends z.ZodType,
  CreatedView extends z.ZodType,
  New extends z.ZodType,
  Change extends z.ZodType,
>(
  collection: Path,
  idName: Name,
  what: Resource<IdsIn<Path>, IdsIn<Path> | Name, View, CreatedView, New, Change>,
): Routes {
  const { name, view, show, list, create, change, remove } = what;
  const tagOf = what.tagOf ?? entityTag;
  const noun = name.replace(/[A-Z]/g, (letter, at) => (at === 0 ? '' : ' ') + letter.toLowerCase());
  const tag = `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`;
  const item = `${collection}/{${idName}}`;
  const tagNow = (path: Ids<IdsIn<Path> | Name>, caller: Caller) => tagOf(show(path, caller));
  return {
    [`list${name}s`]: route('get', collection, {
      tag,
      summary: `List the ${noun}s that the access token covers`,
      answer: json(`${tag}.`, view.array()),
      ...list,
    }),
    [`create${name}`]: route('post', collection, {
      tag,
      summary: `Create a ${noun}`,
      answer: created(`The ${noun}.`, create.view),
      ...create,
    }),
    [`get${name}`]: route('get', item, {
      tag,
      summary: `Get a ${noun}`,
      right: what.get,
      answer: json(`The ${noun}.`, view),
      tagOf,
      handle: ({ path, caller }) => show(path, caller),
    }),
    [`update${name}`]: route('patch', item, {
      tag,
      answer: json(`The ${noun}.`, view),
      ...change,
      tagNow,
      tagOf,
      handle: async (call) => {
        await change.handle(call);
        return show(call.path, call.caller);
      },
    }),
    [`delete${name}`]: route('delete', item, { tag, answer: done, ...remove, tagNow }),
  };
}
