import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { t } from '../language.js';
import { PageNotLoaded } from './lazy-page.js';

export const noSuchPage = () => t('There is no such page.', 'Diese Seite gibt es nicht.');

/** Shows a page's error in its place and keeps the frame around it; otherwise everything would be blank. */
export function PageGuard({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  if (error === undefined) return <>{children}</>;
  return (
    <div role="alert" class="failure">
      <h1>{t('This page cannot be shown.', 'Diese Seite kann nicht angezeigt werden.')}</h1>
      <p>
        {error instanceof PageNotLoaded
          ? t(
              'The gateway does not answer, or it was updated and has a newer page.',
              'Das Gateway antwortet nicht, oder es wurde aktualisiert und hat eine neuere Seite.',
            )
          : t(
              'An error of the program; its text is in the console of the browser.',
              'Ein Fehler im Programm; sein Wortlaut steht in der Konsole des Browsers.',
            )}
      </p>
      <button type="button" onClick={() => location.reload()}>
        {t('Reload', 'Neu laden')}
      </button>
    </div>
  );
}
