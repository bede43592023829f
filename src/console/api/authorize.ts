import type { Session } from '../session/session.js';
import { defaults } from './generated.js';

/** Sends every request with the token that is signed in; a token that is refused is signed out. */
export function authorize(session: Session): void {
  // Relative to the page: the gateway may be below a path of a proxy.
  defaults.baseUrl = '.';
  defaults.fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    const token = session.token.peek();
    if (token !== null) headers.set('Authorization', `Bearer ${token}`);
    const response = await fetch(input, { ...init, headers });
    if (response.status === 401) session.refused();
    return response;
  };
}
