import { useState } from 'preact/hooks';
import { createAccessToken, type Location } from '../../../api.js';
import { isLocalAddress } from '../../../home/issue.js';
import { t } from '../../../language.js';
import { hrefTo } from '../../../place.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { CopiedField, QrCode } from '../../../ui/handover.js';
import { Dialog } from '../../../ui/old-dialog.js';
import { GroupSelect } from '../../gateway/tokens/grant-fields.js';

const wallLinkTitle = () => t('Link for a wall screen', 'Link für einen Wandbildschirm');

const roleNames = () => ({
  viewer: t('Show alarms', 'Alarme anzeigen'),
  responder: t(
    'Show alarms, acknowledge and resolve them',
    'Alarme anzeigen, quittieren und erledigen',
  ),
});

const ROLES = ['viewer', 'responder'] as const;
type Role = (typeof ROLES)[number];
const ALL = '*';

interface WallLinkDialogProps {
  readonly locations: readonly Location[];
  /** The only home that the board shows. */
  readonly homeId: string | undefined;
  readonly onClose: () => void;
}

/** Creates an access token for a screen on the wall, and shows the link with it. */
export function WallLinkDialog({ locations, homeId, onClose }: WallLinkDialogProps) {
  const [link, setLink] = useState<string>();
  if (link === undefined) {
    return (
      <WallLinkForm
        locations={locations}
        homeId={homeId}
        onCreated={(address, token) => setLink(wallLink(address, token))}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title={wallLinkTitle()}
      leaveQuestion={t(
        'The link is not shown again. Close it?',
        'Der Link wird nicht noch einmal angezeigt. Schließen?',
      )}
      onClose={onClose}
    >
      <WallLink link={link} onDone={onClose} />
    </Dialog>
  );
}

interface WallLinkFormProps extends WallLinkDialogProps {
  readonly onCreated: (address: string, token: string) => void;
}

function WallLinkForm({ locations, homeId, onCreated, onClose }: WallLinkFormProps) {
  const [name, setName] = useState(t('Wall screen', 'Wandbildschirm'));
  const [role, setRole] = useState<Role>('viewer');
  const [location, setLocation] = useState(homeId ?? locations[0]?.id ?? ALL);
  const [group, setGroup] = useState('');
  const [address, setAddress] = useState(
    `${globalThis.location.origin}${globalThis.location.pathname}`,
  );
  const grant = { location, role, ...(group !== '' && { group }) };
  return (
    <ChangeDialog
      title={wallLinkTitle()}
      submit={t('Make the link', 'Link erstellen')}
      request={() => createAccessToken({ name, grants: [grant] })}
      onDone={({ token }) => onCreated(address, token)}
      onClose={onClose}
    >
      <p class="hint">
        {t(
          'Makes an access token of its own and puts it into a link. Anyone with the link sees the board without signing in. To take the link back, revoke its token on the page Gateway.',
          'Erstellt einen eigenen Zugangstoken und setzt ihn in einen Link. Wer den Link hat, sieht die Tafel ohne Anmeldung. Um ihn zurückzunehmen, widerrufen Sie seinen Token auf der Seite Gateway.',
        )}
      </p>
      <label>
        {t('Name of the screen', 'Name des Bildschirms')}
        <input
          required
          maxLength={120}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        {t('Home', 'Heim')}
        <select
          value={location}
          onChange={({ currentTarget }) => {
            setLocation(currentTarget.value);
            setGroup('');
          }}
        >
          {[
            ...locations,
            { id: ALL, name: t('All homes, also those to come', 'Alle Heime, auch künftige') },
          ].map((home) => (
            <option key={home.id} value={home.id}>
              {home.name}
            </option>
          ))}
        </select>
      </label>
      {location !== ALL && <GroupSelect locationId={location} value={group} onChange={setGroup} />}
      <label>
        {t(
          'Address of the gateway, as the screen reaches it',
          'Adresse des Gateways, wie der Bildschirm es erreicht',
        )}
        <input
          type="url"
          required
          value={address}
          onInput={({ currentTarget }) => setAddress(currentTarget.value)}
        />
        {isLoopback(address) && (
          <strong role="alert">
            {t(
              'Under this address only this machine reaches the gateway. Give its address in the network of the screen.',
              'Unter dieser Adresse erreicht nur dieser Rechner das Gateway. Geben Sie seine Adresse im Netz des Bildschirms an.',
            )}
          </strong>
        )}
      </label>
      <fieldset>
        <legend>{t('What it may do', 'Was er darf')}</legend>
        {ROLES.map((one) => (
          <label key={one} class="check">
            <input type="radio" name="role" checked={role === one} onChange={() => setRole(one)} />
            {roleNames()[one]}
          </label>
        ))}
      </fieldset>
    </ChangeDialog>
  );
}

interface WallLinkProps {
  readonly link: string;
  readonly onDone: () => void;
}

function WallLink({ link, onDone }: WallLinkProps) {
  return (
    <div class="form board-wall-link">
      <p role="status">
        {t(
          'Open this link on the screen. It is shown only now.',
          'Öffnen Sie diesen Link auf dem Bildschirm. Er wird nur jetzt angezeigt.',
        )}
      </p>
      <CopiedField text={link} label={t('Link', 'Link')} />
      <QrCode text={link} label={t('The link as a QR code', 'Der Link als QR-Code')} />
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          {t('Done', 'Fertig')}
        </button>
      </div>
    </div>
  );
}

function isLoopback(address: string): boolean {
  return URL.canParse(address) && isLocalAddress(new URL(address).host);
}

function wallLink(address: string, token: string): string {
  const place = hrefTo('/', { kiosk: '', token }).replace('kiosk=&', 'kiosk&');
  return `${address.replace(/\/*$/, '/')}${place}`;
}
