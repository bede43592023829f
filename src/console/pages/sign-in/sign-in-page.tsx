import './sign-in.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../console-parts.js';
import type { SignIn } from '../../session/use-sign-in.js';
import { SHELL_WORDS } from '../../shell-words.js';
import { FailureText } from '../../ui/failure-text.js';
import { Preferences } from '../../ui/preferences.js';
import { AlarmSound } from '../board/sound/alarm-sound.js';
import { Bell } from '../board/sound/bell.js';
import { SIGN_IN_WORDS } from './sign-in-words.js';

/** Asks for an access token; shown while no token is signed in. */
export function SignInPage({ isPending, failure, retry }: SignIn) {
  const { routing, session } = useConsole();
  const words = useWords(SIGN_IN_WORDS);
  const { title } = useWords(SHELL_WORDS);
  useEffect(() => {
    document.title = `${words.title} · ${title}`;
  }, [words, title]);
  const isWithoutToken = session.token.value === null;
  return (
    <main class="sign-in">
      {isWithoutToken && routing.place.value.query.has('kiosk') && <DarkWall />}
      <p class="brand">{title}</p>
      <h1>{words.title}</h1>
      {isPending && <p role="status">{words.pending}</p>}
      <FailureText failure={failure} onRetry={retry} />
      {failure !== undefined && (
        <>
          <p>{words.retried}</p>
          <button type="button" onClick={() => session.signOut()}>
            {words.other}
          </button>
        </>
      )}
      {session.wasRefused.value && (
        <p role="alert" class="failure">
          {words.refused}
        </p>
      )}
      {isWithoutToken && <TokenForm />}
      <Preferences />
    </main>
  );
}

/** Tells, also by sound, that a screen on the wall shows no alarms any more: its token has ended. */
function DarkWall() {
  const words = useWords(SIGN_IN_WORDS);
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
        {words.dark}
      </p>
    </div>
  );
}

function TokenForm() {
  const { session } = useConsole();
  const words = useWords(SIGN_IN_WORDS);
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
          {words.token}
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
          {words.keep}
        </label>
        <button type="submit" class="primary">
          {words.submit}
        </button>
      </form>
      <p class="hint">{words.hint}</p>
    </>
  );
}
