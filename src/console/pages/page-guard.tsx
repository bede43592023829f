import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { useWords } from '../console-parts.js';
import { SHELL_WORDS } from '../shell-words.js';
import { PageNotLoaded } from './lazy-page.js';

/** Shows a page's error in its place and keeps the frame around it; otherwise everything would be blank. */
export function PageGuard({ children }: { readonly children: ComponentChildren }) {
  const words = useWords(SHELL_WORDS);
  const [error] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  if (error === undefined) return <>{children}</>;
  return (
    <div role="alert" class="failure">
      <h1>{words.pageFailed}</h1>
      <p>{error instanceof PageNotLoaded ? words.pageNotLoaded : words.pageFault}</p>
      <button type="button" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </div>
  );
}
