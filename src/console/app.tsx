/** The whole console: the sign-in page, or the page for the current place, which loads when it is first shown. */

import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { WaitingLine } from './board/announcer.js';
import { sendBeforeEnd } from './board/changes.js';
import { chooseHome, openAlarms } from './board/open-alarms.js';
import { BoardPage } from './board/page.js';
import { followStatuses } from './board/sensors.js';
import { ringForAlarms } from './board/sound.js';
import { t } from './language.js';
import { live } from './live.js';
import { pageOf, place } from './place.js';
import { session } from './session.js';
import { NoPage, Shell } from './shell.js';
import { SignInPage, useSignIn } from './sign-in.js';
import { loadedLater, PageNotLoaded } from './ui/load.js';

const PAGES = {
  // The board must appear within a second, even on an old tablet.
  '': BoardPage,
  history: loadedLater(async () => (await import('./history/page.js')).HistoryPage),
  home: loadedLater(async () => (await import('./home/page.js')).HomePage),
  gateway: loadedLater(async () => (await import('./gateway/page.js')).GatewayPage),
};

export function App() {
  const signIn = useSignIn();
  const token = session.token.value;
  const isSignedIn = session.identity.value !== undefined;
  useEffect(() => {
    if (token === null || !isSignedIn) return;
    const ends = [
      sendBeforeEnd(),
      openAlarms.start(),
      followStatuses(),
      ringForAlarms(),
      () => live.stop(),
      // The next user would miss the other homes.
      () => chooseHome(undefined),
    ];
    live.start(token);
    return () => {
      for (const end of ends) end();
    };
  }, [token, isSignedIn]);
  if (!isSignedIn) return <SignInPage {...signIn} />;
  const name = pageOf(place.value.path);
  const known = Object.entries(PAGES).find(([one]) => one === name);
  const Page = known?.[1] ?? NoPage;
  return (
    <Shell>
      {name !== '' && <WaitingLine />}
      <PageGuard key={name}>
        <Page />
      </PageGuard>
    </Shell>
  );
}

/** Shows a page's error in its place and keeps the frame around it; otherwise everything would be blank. */
function PageGuard({ children }: { readonly children: ComponentChildren }) {
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
