import { useState } from 'preact/hooks';
import {
  type AccessToken,
  deleteAccessToken,
  type IssuedAccessToken,
  listAccessTokens,
} from '../../../api.js';
import { useConsole } from '../../../console-parts.js';
import { dateTime, t } from '../../../language.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { useLoaded } from '../../../ui/load.js';
import { type Column, List } from '../list.js';
import { useNames } from '../names.js';
import { NewTokenDialog, newTokenTitle } from './new-token-dialog.js';
import { GrantsText } from './token-grants.js';
import { TokenMadeDialog } from './token-made-dialog.js';

const revokeTitle = (name: string) => t(`Revoke ${name}`, `${name} widerrufen`);

/** The access tokens: listed, created and revoked. */
export function TokensPart() {
  const names = useNames();
  const tokens = useLoaded(listAccessTokens, []);
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<IssuedAccessToken>();
  const [revoked, setRevoked] = useState<AccessToken>();
  const changed = () => {
    tokens.again();
    names.load();
  };
  const columns: readonly Column<AccessToken>[] = [
    { head: t('Name', 'Name'), cell: ({ id, name }) => <strong title={id}>{name}</strong> },
    { head: t('May', 'Darf'), cell: ({ grants }) => <GrantsText grants={grants} /> },
    { head: t('Created', 'Angelegt'), cell: ({ createdAt }) => dateTime(createdAt) },
    {
      head: t('Expires', 'Läuft ab'),
      cell: ({ expiresAt }) => (expiresAt === null ? t('never', 'nie') : <Expiry at={expiresAt} />),
    },
    {
      head: t('Revoke', 'Widerrufen'),
      cell: (token) => (
        <button
          type="button"
          class="danger"
          aria-label={revokeTitle(token.name)}
          onClick={() => setRevoked(token)}
        >
          {t('Revoke', 'Widerrufen')}
        </button>
      ),
    },
  ];
  return (
    <>
      <List
        title={t('Access tokens', 'Zugangstokens')}
        hint={t(
          'For people, nurse-call systems and scripts. The administrator’s own, in admin.token, is not listed.',
          'Für Menschen, Rufanlagen und Skripte. Der eigene der Verwaltung, in admin.token, steht nicht in der Liste.',
        )}
        loaded={tokens}
        rows={tokens.data}
        keyOf={({ id }) => id}
        columns={columns}
        textOf={({ id, name }) => `${name} ${id}`}
        empty={t('There are no access tokens.', 'Es gibt keine Zugangstokens.')}
        tools={
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            {newTokenTitle()}
          </button>
        }
      />
      {isCreating && (
        <NewTokenDialog
          onClose={() => setCreating(false)}
          onMade={(token) => {
            setCreating(false);
            setMade(token);
            changed();
          }}
        />
      )}
      {made !== undefined && <TokenMadeDialog token={made} onClose={() => setMade(undefined)} />}
      {revoked !== undefined && (
        <ChangeDialog
          title={revokeTitle(revoked.name)}
          submit={t('Revoke', 'Widerrufen')}
          isDangerous
          request={() => deleteAccessToken({ tokenId: revoked.id })}
          onDone={() => {
            setRevoked(undefined);
            changed();
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>
            {t(
              `Revoke the access token ${revoked.name}? It stops working at once, and its connections are closed.`,
              `Den Zugangstoken ${revoked.name} widerrufen? Er gilt sofort nicht mehr, und seine Verbindungen werden geschlossen.`,
            )}
          </p>
        </ChangeDialog>
      )}
    </>
  );
}

function Expiry({ at }: { readonly at: string }) {
  const { live } = useConsole();
  const text = dateTime(at);
  if (Date.parse(at) > live.clock.now()) return <>{text}</>;
  return (
    <span class="gateway-bad">
      {text} ({t('has expired', 'ist abgelaufen')})
    </span>
  );
}
