import { Suspense } from 'preact/compat';
import { useEffect } from 'preact/hooks';
import { useConsole } from './console-parts.js';
import { t } from './language.js';
import { BoardPage } from './pages/board/board-page.js';
import { WaitingAlarms } from './pages/board/waiting-alarms.js';
import { lazyPage } from './pages/lazy-page.js';
import { noSuchPage, PageGuard } from './pages/page-guard.js';
import { SignInPage } from './pages/sign-in/sign-in-page.js';
import { pageOf } from './routing.js';
import { useSignIn } from './session/use-sign-in.js';
import { Shell } from './shell.js';

// Only the board loads immediately: it must appear within a second, even on an old tablet.
const HistoryPage = lazyPage(
  async () => (await import('./pages/history/history-page.js')).HistoryPage,
);
const HomePage = lazyPage(async () => (await import('./pages/home/home-page.js')).HomePage);
const GatewayPage = lazyPage(
  async () => (await import('./pages/gateway/gateway-page.js')).GatewayPage,
);

/** The whole console: the sign-in page, or the page for the current place. */
export function App() {
  const { session, live, routing } = useConsole();
  const signIn = useSignIn();
  const token = session.token.value;
  const isSignedIn = session.identity.value !== undefined;
  useEffect(() => {
    if (token === null || !isSignedIn) return;
    live.start(token);
    return () => live.stop();
  }, [token, isSignedIn, live]);
  if (!isSignedIn) return <SignInPage {...signIn} />;
  const page = pageOf(routing.place.value.path);
  return (
    <Shell>
      {page !== '' && <WaitingAlarms />}
      <PageGuard key={page}>
        <Suspense fallback={<Loading />}>
          <Page />
        </Suspense>
      </PageGuard>
    </Shell>
  );
}

function Page() {
  const { routing } = useConsole();
  const page = pageOf(routing.place.value.path);
  if (page === '') return <BoardPage />;
  if (page === 'history') return <HistoryPage />;
  if (page === 'home') return <HomePage />;
  if (page === 'gateway') return <GatewayPage />;
  return <h1>{noSuchPage()}</h1>;
}

function Loading() {
  return <p role="status">{t('Loading …', 'Wird geladen …')}</p>;
}
