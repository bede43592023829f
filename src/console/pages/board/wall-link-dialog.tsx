import { useState } from 'preact/hooks';
import { createAccessToken, type Location } from '../../api/generated.js';
import { useWords } from '../../console-parts.js';
import { hrefTo } from '../../routing.js';
import { ChangeDialog } from '../../ui/change-dialog.js';
import { CopiedField } from '../../ui/copied-text.js';
import { Dialog } from '../../ui/dialog.js';
import { QrCode } from '../../ui/qr-code.js';
import { WALL_LINK_WORDS } from './wall-link-words.js';

const ROLES = ['viewer', 'responder'] as const;
type Role = (typeof ROLES)[number];

interface WallLinkDialogProps {
  readonly locations: readonly Location[];
  readonly onClose: () => void;
}

/** Makes an access token for a screen on the wall, and shows the link with it. */
export function WallLinkDialog({ locations, onClose }: WallLinkDialogProps) {
  const words = useWords(WALL_LINK_WORDS);
  const [link, setLink] = useState<string>();
  if (link === undefined) {
    const onCreated = (token: string) => setLink(wallLink(token));
    return <WallLinkForm locations={locations} onCreated={onCreated} onClose={onClose} />;
  }
  return (
    <Dialog title={words.title} onClose={onClose}>
      <WallLink link={link} />
    </Dialog>
  );
}

interface WallLinkFormProps extends WallLinkDialogProps {
  readonly onCreated: (token: string) => void;
}

function WallLinkForm({ locations, onCreated, onClose }: WallLinkFormProps) {
  const words = useWords(WALL_LINK_WORDS);
  const [name, setName] = useState(words.defaultName);
  const [role, setRole] = useState<Role>('viewer');
  const [chosen, setChosen] = useState<readonly string[]>(['*']);
  const choose = (id: string, isChosen: boolean) => {
    const others = chosen.filter((one) => one !== id && (one === '*') === (id === '*'));
    setChosen(isChosen ? [...others, id] : others);
  };
  const grants = chosen.map((location) => ({ location, role }));
  return (
    <ChangeDialog
      title={words.title}
      submit={words.create}
      isIncomplete={chosen.length === 0}
      request={() => createAccessToken({ newAccessToken: { name, grants } })}
      onDone={({ token }) => onCreated(token)}
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
      <fieldset class="board-wall-homes">
        <legend>{words.homes}</legend>
        {[{ id: '*', name: words.all }, ...locations].map((home) => (
          <label key={home.id} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(home.id)}
              onChange={({ currentTarget }) => choose(home.id, currentTarget.checked)}
            />
            {home.name}
          </label>
        ))}
      </fieldset>
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

function WallLink({ link }: { readonly link: string }) {
  const words = useWords(WALL_LINK_WORDS);
  return (
    <div class="form board-wall-link">
      <p role="status">{words.once}</p>
      <CopiedField text={link} label={words.link} />
      <QrCode text={link} label={words.code} />
    </div>
  );
}

function wallLink(token: string): string {
  const place = hrefTo('/', { kiosk: '', token }).replace('kiosk=&', 'kiosk&');
  return `${location.origin}${location.pathname}${place}`;
}
