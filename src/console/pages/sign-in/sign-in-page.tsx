import './sign-in.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { gatewayTitle } from '../../header.js';
import { t } from '../../language.js';
import type { SignIn } from '../../session/use-sign-in.js';
import { FailureText } from '../../ui/failure-text.js';
import { Preferences } from '../../ui/preferences.js';
import { AlarmSound } from '../board/sound/alarm-sound.js';
import { Bell } from '../board/sound/bell.js';

/** Asks for an access token; shown while no token is signed in. */
export function SignInPage({ isPending, failure, retry }: SignIn) {
  const { routing, session } = useConsole();
  const title = gatewayTitle();
  const documentTitle = `${t('Sign in', 'Anmelden')} · ${title}`;
  useEffect(() => {
    document.title = documentTitle;
  }, [documentTitle]);
  const isWithoutToken = session.token.value === null;
  return (
    <main class="sign-in">
      {isWithoutToken && routing.place.value.query.has('kiosk') && <DarkWall />}
      <p class="brand">{title}</p>
      <h1>{t('Sign in', 'Anmelden')}</h1>
      {isPending && <p role="status">{t('Signing in …', 'Anmeldung läuft …')}</p>}
      <FailureText failure={failure} onRetry={retry} />
      {failure !== undefined && (
        <>
          <p>
            {t(
              'This is tried again every few seconds.',
              'Es wird alle paar Sekunden noch einmal versucht.',
            )}
          </p>
          <button type="button" onClick={() => session.signOut()}>
            {t('Sign in with another token', 'Mit einem anderen Token anmelden')}
          </button>
        </>
      )}
      {session.wasRefused.value && (
        <p role="alert" class="failure">
          {t(
            'The gateway does not know this token, or it has ended.',
            'Das Gateway kennt diesen Token nicht, oder er ist abgelaufen.',
          )}
        </p>
      )}
      {isWithoutToken && <TokenForm />}
      <Preferences />
    </main>
  );
}

/** Tells, also by sound, that a screen on the wall shows no alarms any more: its token has ended. */
function DarkWall() {
  useEffect(() => {
    const sound = new AlarmSound();
    const bell = new Bell(sound);
    const end = sound.start();
    bell.set('lost');
    return () => {
      bell.stop();
      end();
    };
  }, []);
  return (
    <div class="kiosk">
      <p class="lost-banner" role="alert">
        {t(
          'New alarms do not appear here: this screen is not signed in.',
          'Neue Alarme erscheinen hier nicht: Dieser Bildschirm ist nicht angemeldet.',
        )}
      </p>
    </div>
  );
}

function TokenForm() {
  const { session } = useConsole();
  const [token, setToken] = useState('');
  const [isKept, setKept] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const typed = token.trim();
    if (typed !== '') session.signIn(typed, isKept);
  };
  return (
    <>
      <form onSubmit={submit}>
        <label>
          {t('Access token', 'Zugangstoken')}
          <input
            ref={field}
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isKept}
            onChange={({ currentTarget }) => setKept(currentTarget.checked)}
          />
          {t('Stay signed in on this device', 'Auf diesem Gerät angemeldet bleiben')}
        </label>
        <button type="submit" class="primary">
          {t('Sign in', 'Anmelden')}
        </button>
      </form>
      <p class="hint">
        {t(
          'An administrator makes access tokens. The administrator’s own is in the file admin.token of the gateway’s data directory.',
          'Zugangstokens vergibt die Verwaltung. Der Token der Verwaltung steht in der Datei admin.token im Datenverzeichnis des Gateways.',
        )}
      </p>
    </>
  );
}
