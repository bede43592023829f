/** Signing in: with a token that is typed, kept, or carried by a link. */

import { useEffect, useState } from 'preact/hooks';
import { getCurrentAccessToken } from './api.js';
import { ringForLost } from './board/sound.js';
import { t } from './language.js';
import { place, replacePlace } from './place.js';
import { type Failure, failureOf } from './request.js';
import { session } from './session.js';
import { gatewayTitle } from './shell.js';
import { FailureText, Preferences } from './ui/bits.js';
import { Check, Text } from './ui/fields.js';

/** At a screen on a wall nobody presses a button. */
const RETRY_MS = 5_000;

interface SignIn {
  /** Whether a request for the token's identity is under way. */
  readonly isPending: boolean;
  /** Why the request failed, if it did. */
  readonly failure: Failure | undefined;
  readonly retry: () => void;
}

/**
 * Asks the gateway for the token's identity, at the start and after each sign-in.
 *
 * A link may carry the token after its `#` (`#/?token=…`): it is removed from the address immediately.
 */
export function useSignIn(): SignIn {
  const [failure, setFailure] = useState<Failure>();
  const [attempt, setAttempt] = useState(0);
  const { path, query } = place.value;
  const linkToken = query.get('token');
  useEffect(() => {
    if (linkToken === null) return;
    const { token: _taken, ...others } = Object.fromEntries(query);
    session.signIn(linkToken, query.has('kiosk'));
    replacePlace(path, others);
  }, [linkToken]);

  const token = session.token.value;
  const retry = () => setAttempt((number) => number + 1);
  useEffect(() => setFailure(undefined), [token]);
  useEffect(() => {
    if (token === null) return;
    let isOutdated = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    getCurrentAccessToken().then(
      (identity) => {
        if (!isOutdated) session.identify(identity);
      },
      (error: unknown) => {
        // A refused token is already signed out.
        if (isOutdated || session.token.peek() === null) return;
        setFailure(failureOf(error));
        timer = setTimeout(retry, RETRY_MS);
      },
    );
    return () => {
      isOutdated = true;
      clearTimeout(timer);
    };
  }, [token, attempt]);
  const isPending = token !== null && failure === undefined;
  return { isPending, failure, retry };
}

/** Asks for an access token; shown while no token is signed in. */
export function SignInPage({ isPending, failure, retry }: SignIn) {
  const title = gatewayTitle();
  const documentTitle = `${t('Sign in', 'Anmelden')} · ${title}`;
  useEffect(() => {
    document.title = documentTitle;
  }, [documentTitle]);
  const isWithoutToken = session.token.value === null;
  return (
    <main class="sign-in">
      {isWithoutToken && place.value.query.has('kiosk') && <DarkWall />}
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
  useEffect(ringForLost, []);
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
  const [token, setToken] = useState('');
  const [isKept, setKept] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const typed = token.trim();
    if (typed !== '') session.signIn(typed, isKept);
  };
  return (
    <>
      <form onSubmit={submit}>
        <Text
          label={t('Access token', 'Zugangstoken')}
          type="password"
          autocomplete="current-password"
          required
          autofocus
          value={token}
          onChange={setToken}
        />
        <Check isChecked={isKept} onChange={setKept}>
          {t('Stay signed in on this device', 'Auf diesem Gerät angemeldet bleiben')}
        </Check>
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
