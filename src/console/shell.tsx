import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { useConsole } from './console-parts.js';
import { gatewayTitle, Header, pageNames } from './header.js';
import { t } from './language.js';
import { useNewerConsole } from './newer-console.js';
import { usePageFocus } from './page-focus.js';
import { pageOf } from './routing.js';

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
  const parts = [
    live.state.value === 'lost' ? t('Not connected', 'Keine Verbindung') : undefined,
    tabNote.value,
    pageNames()[page],
    gatewayTitle(),
  ];
  const title = parts.filter((part) => part !== undefined).join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

function LostBanner() {
  const { live } = useConsole();
  if (live.state.value !== 'lost') return null;
  return (
    <div class="lost-banner" role="alert">
      {t(
        'Not connected. New alarms do not appear here until the gateway is reached again.',
        'Keine Verbindung. Bis das Gateway wieder erreicht ist, erscheinen hier keine neuen Alarme.',
      )}
    </div>
  );
}

function UpdateNotice() {
  return (
    <div class="update-notice" role="status">
      {t(
        'The gateway was updated. This page is still the old one.',
        'Das Gateway wurde aktualisiert. Diese Seite ist noch die alte.',
      )}{' '}
      <button type="button" onClick={() => location.reload()}>
        {t('Reload', 'Neu laden')}
      </button>
    </div>
  );
}
