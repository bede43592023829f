import { useState } from 'preact/hooks';
import { createAccessToken, type Grant, type IssuedAccessToken } from '../../../api.js';
import { t } from '../../../language.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { GrantFields } from './grant-fields.js';

export const newTokenTitle = () => t('New access token', 'Neuer Zugangstoken');

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
      title={newTokenTitle()}
      submit={t('Create', 'Anlegen')}
      request={create}
      onDone={onMade}
      onClose={onClose}
    >
      <label>
        {t('Name', 'Name')}
        <input
          required
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      {grants.map(({ number, grant }, index) => (
        <fieldset key={number} class="gateway-grant">
          <legend>{t(`Grant ${index + 1}`, `Recht ${index + 1}`)}</legend>
          <GrantFields grant={grant} onChange={(changed) => replace(number, changed)} />
          {grants.length > 1 && (
            <button
              type="button"
              onClick={() => setGrants(grants.filter((one) => one.number !== number))}
            >
              {t('Remove this grant', 'Dieses Recht entfernen')}
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
        {t('Another grant', 'Weiteres Recht')}
      </button>
      <label>
        {t('Expires at (empty: never)', 'Läuft ab am (leer: nie)')}
        <input
          type="datetime-local"
          value={expiry}
          onInput={({ currentTarget }) => setExpiry(currentTarget.value)}
        />
      </label>
    </ChangeDialog>
  );
}
