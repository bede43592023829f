import './header.css';
import { useEffect, useState } from 'preact/hooks';
import { useConsole } from './console-parts.js';
import { t } from './language.js';
import { hrefTo, pageOf } from './routing.js';
import { Preferences } from './ui/preferences.js';

/** The names of the pages, by the first part of their paths. */
export const pageNames = (): Readonly<Record<string, string>> => ({
  '': t('Board', 'Tafel'),
  history: t('History', 'Verlauf'),
  home: t('Home', 'Heim'),
  gateway: t('Gateway', 'Gateway'),
});

export const gatewayTitle = () => t('Care-home gateway', 'Pflegeheim-Gateway');

/** The navigation, the state of the connection, and the signed-in token. */
export function Header() {
  const { session } = useConsole();
  return (
    <header class="header">
      <button
        type="button"
        class="skip"
        onClick={() => document.getElementById('content')?.focus()}
      >
        {t('To the content', 'Zum Inhalt')}
      </button>
      <span class="brand">{gatewayTitle()}</span>
      <nav aria-label={t('Pages', 'Seiten')}>
        <PageLink path="/" />
        <PageLink path="/history" />
        <PageLink path="/home" />
        {session.isAdmin.value && <PageLink path="/gateway" />}
      </nav>
      <Connection />
      <Settings />
    </header>
  );
}

/** Next to the navigation if there is room, otherwise behind a button. */
function Settings() {
  const { session, routing } = useConsole();
  const [isOpen, setOpen] = useState(false);
  const { path } = routing.place.value;
  useEffect(() => setOpen(false), [path]);
  const identity = session.identity.value;
  return (
    <>
      <button
        type="button"
        class="header-more"
        aria-expanded={isOpen}
        aria-controls="settings"
        onClick={() => setOpen(!isOpen)}
      >
        {t('Settings', 'Einstellungen')}
      </button>
      <div id="settings" class={isOpen ? 'header-end open' : 'header-end'}>
        <Preferences />
        {identity !== undefined && (
          <button
            type="button"
            onClick={() => {
              if (routing.mayLeave()) session.signOut();
            }}
            title={t(`Signed in as ${identity.name}`, `Angemeldet als ${identity.name}`)}
          >
            {t('Sign out', 'Abmelden')}
          </button>
        )}
      </div>
    </>
  );
}

function PageLink({ path }: { readonly path: string }) {
  const { routing } = useConsole();
  const isCurrent = pageOf(routing.place.value.path) === pageOf(path);
  return (
    <a href={hrefTo(path)} aria-current={isCurrent ? 'page' : undefined}>
      {pageNames()[pageOf(path)]}
    </a>
  );
}

/** Whether the console is connected to the gateway. */
export function Connection() {
  const { live } = useConsole();
  const state = live.state.value;
  return (
    <span class={state === 'connected' ? 'connection dot good' : 'connection dot'} role="status">
      {state === 'connected'
        ? t('Connected', 'Verbunden')
        : t('Connecting …', 'Verbindung wird aufgebaut …')}
    </span>
  );
}
