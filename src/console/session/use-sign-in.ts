import { useEffect, useState } from 'preact/hooks';
import { getCurrentAccessToken } from '../api.js';
import { useConsole } from '../console-parts.js';
import { type Failure, failureOf } from '../request.js';

/** At a screen on a wall nobody presses a button. */
const RETRY_MS = 5_000;

export interface SignIn {
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
  const { session, routing } = useConsole();
  const [failure, setFailure] = useState<Failure>();
  const [attempt, setAttempt] = useState(0);
  const { path, query } = routing.place.value;
  const linkToken = query.get('token');
  useEffect(() => {
    if (linkToken === null) return;
    const { token: _taken, ...others } = Object.fromEntries(query);
    session.signIn(linkToken, query.has('kiosk'));
    routing.replace(path, others);
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
