import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';

/** The files of a page, or of a part of one, could not be loaded: the gateway does not answer, or was updated and has others now. */
export class PageNotLoaded extends Error {
  constructor(cause: unknown) {
    super('The files of a page could not be loaded.', { cause });
    this.name = 'PageNotLoaded';
  }
}

/** A page, or a part of one, that is loaded when it is shown for the first time. */
export function lazyPage<Props>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => {
    try {
      return { default: await load() };
    } catch (error) {
      throw new PageNotLoaded(error);
    }
  });
}
