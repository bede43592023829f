import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';

/** The files of a page or part of it could not be loaded: the gateway does not answer, or an update replaced them. */
export class PageNotLoaded extends Error {
  constructor(cause: unknown) {
    super('The files of a page could not be loaded.', { cause });
    this.name = 'PageNotLoaded';
  }
}

/** A page, or a part of one, that loads when it is first shown. */
export function lazyPage<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => {
    try {
      return { default: await load() };
    } catch (error) {
      throw new PageNotLoaded(error);
    }
  });
}
