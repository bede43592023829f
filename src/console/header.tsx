import './header.css';
import { useEffect, useState } from 'preact/hooks';
import { useConsole, useWords } from './console-parts.js';
import { hrefTo, pageOf } from './routing.js';
import { SHELL_WORDS } from './shell-words.js';
import { Preferences } from './ui/preferences.js';

/** The navigation, the state of the connection, and the signed-in token. */
export function Header() {
  const { session } = useConsole();
  const words = useWords(SHELL_WORDS);
  return (
    <header class="header">
      <button
        type="button"
        class="skip"
        onClick={() => document.getElementById('content')?.focus()}
      >
        {words.skip}
      </button>
      <span class="brand">{words.title}</span>
      <nav aria-label={words.navigation}>
        <PageLink path="/" text={words.board} />
        <PageLink path="/history" text={words.history} />
        <PageLink path="/home" text={words.home} />
        {session.isAdmin.value && <PageLink path="/gateway" text={words.gateway} />}
      </nav>
      <Connection />
      <Settings />
    </header>
  );
}

/** Next to the navigation if there is room, otherwise behind a button. */
function Settings() {
  const { session, routing } = useConsole();
  const words = useWords(SHELL_WORDS);
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
        {words.settings}
      </button>
      <div id="settings" class={isOpen ? 'header-end open' : 'header-end'}>
        <Preferences />
        {identity !== undefined && (
          <button
            type="button"
            onClick={() => {
              if (routing.mayLeave()) session.signOut();
            }}
            title={words.signedInAs(identity.name)}
          >
            {words.signOut}
          </button>
        )}
      </div>
    </>
  );
}

function PageLink({ path, text }: { readonly path: string; readonly text: string }) {
  const { routing } = useConsole();
  const isCurrent = pageOf(routing.place.value.path) === pageOf(path);
  return (
    <a href={hrefTo(path)} aria-current={isCurrent ? 'page' : undefined}>
      {text}
    </a>
  );
}

/** Whether the console is connected to the gateway. */
export function Connection() {
  const { live } = useConsole();
  const words = useWords(SHELL_WORDS);
  const state = live.state.value;
  return (
    <span class={state === 'connected' ? 'connection dot good' : 'connection dot'} role="status">
      {state === 'connected' ? words.connected : words.connecting}
    </span>
  );
}
