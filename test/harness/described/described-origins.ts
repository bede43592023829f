import { z } from 'zod';
import type { DescribedHttp } from './described-http.js';

/** The gateways that tests call, by origin, with their own descriptions. */

const titleSchema = z.looseObject({
  info: z.looseObject({ title: z.literal('Care-home gateway') }),
});
/** Origins of gateways of this build, which all have the same document: asking each is expensive. */
const started = new Set<string>();
let ofThisBuild: DescribedHttp | undefined;
const documents = new Map<string, Promise<DescribedHttp | undefined>>();
/** By document: gateways of one build share it, and compiling its schemas is expensive. */
const descriptions = new Map<string, DescribedHttp>();

/** The description of the gateway at the origin; undefined when there is none. */
export function describedAt(origin: string): Promise<DescribedHttp | undefined> {
  const known = documents.get(origin);
  if (known !== undefined) return known;
  const asked = ask(origin);
  documents.set(origin, asked);
  return asked;
}

/** Notes that a gateway of this build now answers at the origin: while standing by it had no description. */
export function gatewayStartedAt(origin: string): void {
  documents.delete(origin);
  started.add(origin);
}

async function ask(origin: string): Promise<DescribedHttp | undefined> {
  const isOfThisBuild = started.has(origin);
  if (isOfThisBuild && ofThisBuild !== undefined) return ofThisBuild;
  try {
    const text = await (await fetch(`${origin}/openapi.json`)).text();
    const known = descriptions.get(text);
    if (known !== undefined) return known;
    const document: unknown = JSON.parse(text);
    if (!titleSchema.safeParse(document).success) return undefined;
    // Only where a gateway answers: compiling schemas is the most expensive import of a test file.
    const { DescribedHttp } = await import('./described-http.js');
    const described = new DescribedHttp(document);
    descriptions.set(text, described);
    if (isOfThisBuild) ofThisBuild = described;
    return described;
  } catch {
    // The gateway has ended meanwhile, or the server is not a gateway but, for example, a store for
    // recordings.
    documents.delete(origin);
    return undefined;
  }
}
