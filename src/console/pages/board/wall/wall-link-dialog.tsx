import { useEffect, useState } from 'preact/hooks';
import { createAccessToken, getOpenApiDocument, type Location } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { recordOf } from '../../../request.js';
import { hrefTo } from '../../../routing.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { CopiedField } from '../../../ui/copied-text.js';
import { Dialog } from '../../../ui/dialog.js';
import { QrCode } from '../../../ui/qr-code.js';
import { GroupSelect } from '../../gateway/tokens/grant-fields.js';
import { isLocalAddress } from '../../home/issued/setup-text.js';
import { WALL_LINK_WORDS } from './wall-link-words.js';

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
  const words = useWords(WALL_LINK_WORDS);
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
    <Dialog title={words.title} leaveQuestion={words.leave} onClose={onClose}>
      <WallLink link={link} onDone={onClose} />
    </Dialog>
  );
}

interface WallLinkFormProps extends WallLinkDialogProps {
  readonly onCreated: (address: string, token: string) => void;
}

function WallLinkForm({ locations, homeId, onCreated, onClose }: WallLinkFormProps) {
  const words = useWords(WALL_LINK_WORDS);
  const [name, setName] = useState(words.defaultName);
  const [role, setRole] = useState<Role>('viewer');
  const [location, setLocation] = useState(homeId ?? locations[0]?.id ?? ALL);
  const [group, setGroup] = useState('');
  const [address, setAddress] = useLinkAddress();
  const grant = { location, role, ...(group !== '' && { group }) };
  return (
    <ChangeDialog
      title={words.title}
      submit={words.create}
      request={() => createAccessToken({ name, grants: [grant] })}
      onDone={({ token }) => onCreated(address, token)}
      onClose={onClose}
    >
      <p class="hint">{words.hint}</p>
      <label>
        {words.name}
        <input
          required
          maxLength={120}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        {words.home}
        <select
          value={location}
          onChange={({ currentTarget }) => {
            setLocation(currentTarget.value);
            setGroup('');
          }}
        >
          {[...locations, { id: ALL, name: words.all }].map((home) => (
            <option key={home.id} value={home.id}>
              {home.name}
            </option>
          ))}
        </select>
      </label>
      {location !== ALL && <GroupSelect locationId={location} value={group} onChange={setGroup} />}
      <label>
        {words.address}
        <input
          type="url"
          required
          value={address}
          onInput={({ currentTarget }) => setAddress(currentTarget.value)}
        />
        {isLoopback(address) && <strong role="alert">{words.loopback}</strong>}
      </label>
      <fieldset>
        <legend>{words.role}</legend>
        {ROLES.map((one) => (
          <label key={one} class="check">
            <input type="radio" name="role" checked={role === one} onChange={() => setRole(one)} />
            {words.roles[one]}
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
  const words = useWords(WALL_LINK_WORDS);
  return (
    <div class="form board-wall-link">
      <p role="status">{words.once}</p>
      <CopiedField text={link} label={words.link} />
      <QrCode text={link} label={words.code} />
      <div class="buttons">
        <button type="button" class="primary" onClick={onDone}>
          {words.done}
        </button>
      </div>
    </div>
  );
}

/**
 * The editable address in the link: that of this page or, if that is a loopback address, the one that the
 * gateway knows.
 */
function useLinkAddress(): [string, (address: string) => void] {
  const own = `${location.origin}${location.pathname}`;
  const [address, setAddress] = useState(own);
  useEffect(() => {
    if (!isLoopback(own)) return;
    // Without it the user types the address.
    getOpenApiDocument().then(
      (document) => {
        const { servers } = recordOf(document);
        const url = Array.isArray(servers) ? recordOf(servers[0])['url'] : undefined;
        if (typeof url !== 'string' || !/^https?:/.test(url)) return;
        setAddress((typed) => (typed === own ? url : typed));
      },
      () => undefined,
    );
  }, [own]);
  return [address, setAddress];
}

function isLoopback(address: string): boolean {
  return URL.canParse(address) && isLocalAddress(new URL(address).host);
}

function wallLink(address: string, token: string): string {
  const place = hrefTo('/', { kiosk: '', token }).replace('kiosk=&', 'kiosk&');
  return `${address.replace(/\/*$/, '/')}${place}`;
}
