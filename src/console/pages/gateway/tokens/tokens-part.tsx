import { useState } from 'preact/hooks';
import {
  type AccessToken,
  deleteAccessToken,
  type IssuedAccessToken,
  listAccessTokens,
} from '../../../api.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { dateTime } from '../../../ui/time-ago.js';
import { useLoaded } from '../../../ui/use-request.js';
import { type Column, List } from '../list.js';
import { useNames } from '../names.js';
import { NewTokenDialog } from './new-token-dialog.js';
import { GrantsText } from './token-grants.js';
import { TokenMadeDialog } from './token-made-dialog.js';
import { TOKENS_WORDS } from './tokens-words.js';

/** The access tokens: listed, created and revoked. */
export function TokensPart() {
  const words = useWords(TOKENS_WORDS);
  const { language } = useConsole();
  const names = useNames();
  const tokens = useLoaded(listAccessTokens, []);
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<IssuedAccessToken>();
  const [revoked, setRevoked] = useState<AccessToken>();
  const shown = language.current.value;
  const changed = () => {
    tokens.again();
    names.load();
  };
  const columns: readonly Column<AccessToken>[] = [
    { head: words.name, cell: ({ id, name }) => <strong title={id}>{name}</strong> },
    { head: words.grants, cell: ({ grants }) => <GrantsText grants={grants} /> },
    { head: words.created, cell: ({ createdAt }) => dateTime(createdAt, shown) },
    {
      head: words.expires,
      cell: ({ expiresAt }) => (expiresAt === null ? words.never : <Expiry at={expiresAt} />),
    },
    {
      head: words.revoke,
      cell: (token) => (
        <button
          type="button"
          class="danger"
          aria-label={words.revokeOf(token.name)}
          onClick={() => setRevoked(token)}
        >
          {words.revoke}
        </button>
      ),
    },
  ];
  return (
    <>
      <List
        title={words.tokens}
        hint={words.hint}
        loaded={tokens}
        rows={tokens.data}
        keyOf={({ id }) => id}
        columns={columns}
        textOf={({ id, name }) => `${name} ${id}`}
        empty={words.none}
        tools={
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            {words.create}
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
          title={words.revokeOf(revoked.name)}
          submit={words.revoke}
          isDangerous
          request={() => deleteAccessToken({ tokenId: revoked.id })}
          onDone={() => {
            setRevoked(undefined);
            changed();
          }}
          onClose={() => setRevoked(undefined)}
        >
          <p>{words.revokeAsk(revoked.name)}</p>
        </ChangeDialog>
      )}
    </>
  );
}

function Expiry({ at }: { readonly at: string }) {
  const { language, live } = useConsole();
  const words = useWords(TOKENS_WORDS);
  const text = dateTime(at, language.current.value);
  if (Date.parse(at) > live.clock.now()) return <>{text}</>;
  return (
    <span class="gateway-bad">
      {text} ({words.expired})
    </span>
  );
}
