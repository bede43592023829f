import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { useConsole, useWords } from './console-parts.js';
import { Header } from './header.js';
import { useNewerConsole } from './newer-console.js';
import { usePageFocus } from './page-focus.js';
import { pageOf } from './routing.js';
import { SHELL_WORDS } from './shell-words.js';

/** The frame around every page: navigation, the connection, and the signed-in token. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { routing } = useConsole();
  const { path, query } = routing.place.value;
  const isKiosk = query.has('kiosk');
  const isNewer = useNewerConsole(isKiosk);
  const page = pageOf(path);
  // The parts of the gateway's page share one heading, so the focus stays on the link that was followed.
  usePageFocus(page === 'gateway' ? page : path);
  useTitle(page);
  // Before the page is drawn, or it would first show small text.
  useLayoutEffect(() => {
    // On the root: all other font sizes follow it.
    const { classList } = document.documentElement;
    classList.toggle('kiosk', isKiosk);
    return () => classList.remove('kiosk');
  }, [isKiosk]);
  return (
    <div class="shell">
      {!isKiosk && <Header />}
      <LostBanner />
      {isNewer && <UpdateNotice />}
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** Shows in the tab title which page it is, and whether it can be relied on. */
function useTitle(page: string): void {
  const { live, tabNote } = useConsole();
  const words = useWords(SHELL_WORDS);
  const note = tabNote.value;
  const names = [words.board, words.history, words.home, words.gateway];
  const name = names[['', 'history', 'home', 'gateway'].indexOf(page)];
  const isLost = live.state.value === 'lost';
  useEffect(() => {
    const parts = [isLost ? words.lostTitle : undefined, note, name, words.title];
    document.title = parts.filter((part) => part !== undefined).join(' · ');
  }, [note, isLost, name, words]);
}

function LostBanner() {
  const { live } = useConsole();
  const words = useWords(SHELL_WORDS);
  if (live.state.value !== 'lost') return null;
  return (
    <div class="lost-banner" role="alert">
      {words.lost}
    </div>
  );
}

function UpdateNotice() {
  const words = useWords(SHELL_WORDS);
  return (
    <div class="update-notice" role="status">
      {words.updated}{' '}
      <button type="button" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </div>
  );
}
