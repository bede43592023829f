/** A link that signs in with an access token, and its QR code: nobody types 43 characters on a tablet. */

import { useState } from 'preact/hooks';
import { t } from '../language.js';
import { hrefTo } from '../place.js';
import { Text } from '../ui/fields.js';
import { CopiedField, QrCode } from '../ui/handover.js';

interface SignInLinkProps {
  readonly token: string;
  /** Whether it shows the board of a screen on a wall. */
  readonly isKiosk: boolean;
}

/** The link, for which an address is asked that other machines reach the gateway under, if this page has none. */
export function SignInLink({ token, isKiosk }: SignInLinkProps) {
  const own = `${location.origin}${location.pathname}`;
  const [address, setAddress] = useState(own);
  const link = linkTo(address, token, isKiosk);
  return (
    <>
      {isLoopback(own) && <Address value={address} onChange={setAddress} />}
      <CopiedField text={link} label={t('Link that signs in', 'Link zum Anmelden')} />
      <QrCode text={link} label={t('The link as a QR code', 'Der Link als QR-Code')} />
    </>
  );
}

interface AddressProps {
  readonly value: string;
  readonly onChange: (address: string) => void;
}

function Address({ value, onChange }: AddressProps) {
  return (
    <Text
      label={t(
        'Address of the gateway, as the screen reaches it',
        'Adresse des Gateways, wie der Bildschirm es erreicht',
      )}
      type="url"
      required
      value={value}
      onChange={onChange}
    >
      {isLoopback(value) && (
        <strong role="alert">
          {t(
            'Under this address only this machine reaches the gateway. Give its address in the network of the screen.',
            'Unter dieser Adresse erreicht nur dieser Rechner das Gateway. Geben Sie seine Adresse im Netz des Bildschirms an.',
          )}
        </strong>
      )}
    </Text>
  );
}

/** Whether the address leads every machine to itself. */
function isLoopback(address: string): boolean {
  if (!URL.canParse(address)) return false;
  return /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(address).hostname);
}

function linkTo(address: string, token: string, isKiosk: boolean): string {
  const place = isKiosk ? hrefTo('/', { kiosk: '', token }) : hrefTo('/', { token });
  return `${address.replace(/\/*$/, '/')}${place.replace('kiosk=&', 'kiosk&')}`;
}
