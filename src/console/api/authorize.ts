import type { Session } from '../session/session.js';
import type { Language } from '../words/language.js';
import { withExactNumbers } from './exact-json.js';
import { defaults } from './generated.js';

/** Without it, a connection that has died silently would leave a button disabled. */
const TIMEOUT_MS = 15_000;

/**
 * Sends every request with the signed-in token; signs out a refused token.
 *
 * @param language the language of the console, in which the gateway should answer
 */
export function authorize(session: Session, language: () => Language): void {
  // Relative to the page: the gateway may be below a path of a proxy.
  defaults.baseUrl = '.';
  defaults.fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    const token = session.token.peek();
    if (token !== null) headers.set('Authorization', `Bearer ${token}`);
    headers.set('Accept-Language', language());
    const accepted = headers.get('Accept');
    const signals = init?.signal ? [init.signal] : [];
    // No timeout for downloads or for resending dead letters: they may take long.
    if (accepted !== 'text/csv' && !String(input).endsWith('/send-again'))
      signals.push(AbortSignal.timeout(TIMEOUT_MS));
    const response = await fetch(input, { ...init, headers, signal: AbortSignal.any(signals) });
    if (response.status === 401 && token !== null) session.refused(token);
    return accepted === 'application/json' ? withExactBody(response) : response;
  };
}

/** The answer with the numbers exactly as devices wrote them; the generated client parses it. */
async function withExactBody(response: Response): Promise<Response> {
  if (!response.ok || response.headers.get('Content-Type') !== 'application/json') return response;
  return new Response(withExactNumbers(await response.text()), response);
}
