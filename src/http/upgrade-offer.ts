import { IncomingMessage } from 'node:http';

/**
 * The class of a server's requests, which reports an `Upgrade` only if it is taken.
 *
 * Node hands every request with an `Upgrade` to the listeners of `upgrade`, and no longer treats it as a
 * request. So an offer of HTTP/2, which curl and Java's client add to ordinary requests, would cost them
 * their answer. An offer may be ignored (RFC 9110, 7.8).
 *
 * @param isTaken whether the request switches protocols; called when the header fields are there
 */
export function requestClass(
  isTaken: (request: IncomingMessage) => boolean,
): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** No initial value: `upgrade` is set before this class is constructed. */
    declare hasOffer: boolean;

    get upgrade(): boolean {
      return this.hasOffer && (this.method === 'CONNECT' || isTaken(this));
    }

    set upgrade(value: boolean | null) {
      this.hasOffer = value === true;
    }
  };
}
