import { useState } from 'preact/hooks';
import { createAccessToken, type Grant, type IssuedAccessToken } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { GrantFields } from './grant-fields.js';
import { TOKENS_WORDS } from './tokens-words.js';

interface NewTokenDialogProps {
  readonly onMade: (token: IssuedAccessToken) => void;
  readonly onClose: () => void;
}

interface NumberedGrant {
  /** Keeps the grant with its fields when another is removed. */
  readonly number: number;
  readonly grant: Grant;
}

const LEAST: Grant = { location: '*', role: 'viewer' };

/** Asks for the name, grants and expiry of a new access token. */
export function NewTokenDialog({ onMade, onClose }: NewTokenDialogProps) {
  const words = useWords(TOKENS_WORDS);
  const [name, setName] = useState('');
  const [expiry, setExpiry] = useState('');
  const [grants, setGrants] = useState<readonly NumberedGrant[]>([{ number: 1, grant: LEAST }]);
  const create = () => {
    const expiresAt = expiry === '' ? null : new Date(expiry).toISOString();
    const newAccessToken = { name, expiresAt, grants: grants.map(({ grant }) => grant) };
    return createAccessToken(newAccessToken);
  };
  const replace = (number: number, grant: Grant) =>
    setGrants(grants.map((one) => (one.number === number ? { number, grant } : one)));
  return (
    <ChangeDialog
      title={words.create}
      submit={words.submit}
      request={create}
      onDone={onMade}
      onClose={onClose}
    >
      <label>
        {words.name}
        <input
          required
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      {grants.map(({ number, grant }, index) => (
        <fieldset key={number} class="gateway-grant">
          <legend>{words.grant(index + 1)}</legend>
          <GrantFields grant={grant} onChange={(changed) => replace(number, changed)} />
          {grants.length > 1 && (
            <button
              type="button"
              onClick={() => setGrants(grants.filter((one) => one.number !== number))}
            >
              {words.removeGrant}
            </button>
          )}
        </fieldset>
      ))}
      <button
        type="button"
        onClick={() =>
          setGrants([...grants, { number: (grants.at(-1)?.number ?? 0) + 1, grant: LEAST }])
        }
      >
        {words.addGrant}
      </button>
      <label>
        {words.expiry}
        <input
          type="datetime-local"
          value={expiry}
          onInput={({ currentTarget }) => setExpiry(currentTarget.value)}
        />
      </label>
    </ChangeDialog>
  );
}
