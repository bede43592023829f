/** The frame around every page: navigation, connection, the signed-in token, and what concerns the whole console. */

import './shell.css';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from './language.js';
import { live } from './live.js';
import { hrefTo, mayLeave, pageOf, place } from './place.js';
import { session } from './session.js';
import { Preferences } from './ui/bits.js';
import { Dialogs } from './ui/dialog.js';

/** A page's note in the tab title, such as `(3)`, for when another tab is in front. */
export const tabNote = signal('');

export const gatewayTitle = () => t('Care-home gateway', 'Pflegeheim-Gateway');

/** The pages of the navigation, by the first part of their paths. */
const pageNames = (): Readonly<Record<string, string>> => ({
  '': t('Board', 'Tafel'),
  history: t('History', 'Verlauf'),
  home: t('Home', 'Heim'),
  ...(session.isAdmin.value && { gateway: t('Gateway', 'Gateway') }),
});

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { path, query } = place.value;
  const isKiosk = query.has('kiosk');
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
      {!isKiosk && <Header page={page} />}
      <LostBanner />
      <UpdateNotice isKiosk={isKiosk} />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      <Dialogs />
    </div>
  );
}

/** For an address that leads to no page. */
export function NoPage() {
  return <h1>{t('There is no such page.', 'Diese Seite gibt es nicht.')}</h1>;
}

function Header({ page }: { readonly page: string }) {
  return (
    <header class="header">
      <button
        type="button"
        class="skip"
        onClick={() => document.getElementById('content')?.focus()}
      >
        {t('Skip to content', 'Zum Inhalt')}
      </button>
      <span class="brand">{gatewayTitle()}</span>
      <nav aria-label={t('Pages', 'Seiten')}>
        {Object.entries(pageNames()).map(([name, text]) => (
          <a key={name} href={hrefTo(`/${name}`)} aria-current={name === page ? 'page' : undefined}>
            {text}
          </a>
        ))}
      </nav>
      <Connection />
      <Settings />
    </header>
  );
}

/** Next to the navigation if there is room, otherwise behind a button. */
function Settings() {
  const [isOpen, setOpen] = useState(false);
  const { path } = place.value;
  useEffect(() => setOpen(false), [path]);
  const name = session.identity.value?.name ?? '';
  return (
    <>
      <button
        type="button"
        class="header-more"
        aria-expanded={isOpen}
        aria-controls="settings"
        onClick={() => setOpen(!isOpen)}
      >
        <span class="header-more-text">{t('Settings', 'Einstellungen')}</span>
        <span class="header-more-sign" aria-hidden="true">
          ☰
        </span>
      </button>
      <div id="settings" class={isOpen ? 'header-end open' : 'header-end'}>
        <Preferences />
        <button
          type="button"
          onClick={() => {
            if (mayLeave()) session.signOut();
          }}
          title={t(`Signed in as ${name}`, `Angemeldet als ${name}`)}
        >
          {t('Sign out', 'Abmelden')}
        </button>
      </div>
    </>
  );
}

/** Whether the console is connected to the gateway. */
export function Connection() {
  const isConnected = live.state.value === 'connected';
  return (
    <span class={isConnected ? 'connection dot good' : 'connection dot'} role="status">
      {isConnected ? t('Connected', 'Verbunden') : t('Connecting …', 'Verbindung wird aufgebaut …')}
    </span>
  );
}

function LostBanner() {
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

/** Shows in the tab title which page it is, and whether it can be relied on. */
function useTitle(page: string): void {
  const parts = [
    live.state.value === 'lost' ? t('Not connected', 'Keine Verbindung') : '',
    tabNote.value,
    pageNames()[page] ?? '',
    gatewayTitle(),
  ];
  const title = parts.filter((part) => part !== '').join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}

/**
 * Moves the focus to the heading of the new page after a navigation, so that a screen reader announces it and
 * the keyboard continues there. The first page keeps the browser's focus.
 *
 * @param page changes with every page that has its own heading, but not with places within it
 */
function usePageFocus(page: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    scrollTo(0, 0);
    if (focusHeading()) return;
    // The page is still loading.
    const observer = new MutationObserver(() => {
      if (focusHeading()) observer.disconnect();
    });
    observer.observe(document.body, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [page]);
}

/** Moves the focus to the heading of the page. @returns whether it has one */
export function focusHeading(): boolean {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading === null) return false;
  heading.tabIndex = -1;
  heading.focus();
  return true;
}

/**
 * Tells that the gateway now has a different console than the one shown: it was updated.
 *
 * A board stays open for months. An update interrupts the connection, so this checks after each reconnect. A
 * screen on a wall, where no one presses a button, loads the new console automatically.
 */
function UpdateNotice({ isKiosk }: { readonly isKiosk: boolean }) {
  const [isNewer, setNewer] = useState(false);
  /** Whether it was connected or lost before. */
  const hasBegun = useRef(false);
  const state = live.state.value;
  useEffect(() => {
    const isReconnect = hasBegun.current && state === 'connected';
    hasBegun.current ||= state !== 'connecting';
    if (!isReconnect) return;
    hasOtherScript().then(
      (isOther) => {
        if (isOther && isKiosk) location.reload();
        setNewer(isOther);
      },
      // Away again: the next reconnect checks again.
      () => undefined,
    );
  }, [state, isKiosk]);
  if (!isNewer) return null;
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

/** The name of the script contains a digest of its content. */
async function hasOtherScript(): Promise<boolean> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src');
  const answer = await fetch('./', { cache: 'no-cache' });
  if (!answer.ok || own === null || own === undefined) return false;
  return !(await answer.text()).includes(own);
}
