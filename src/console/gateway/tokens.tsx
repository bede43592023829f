/** The access tokens: who has one, what it may do, and their creation, change, renewal and end. */

import { useState } from 'preact/hooks';
import {
  type AccessToken,
  createAccessToken,
  deleteAccessToken,
  listAccessTokens,
  replaceAccessTokenSecret,
  updateAccessToken,
} from '../api.js';
import { dateTime, t } from '../language.js';
import { live } from '../live.js';
import { useKeptPlace } from '../place.js';
import { TimeAgo } from '../ui/bits.js';
import { ChangeDialog, Dialog, openDialog, useCloseDialog } from '../ui/dialog.js';
import { NameText, Text } from '../ui/fields.js';
import { CopiedField, CopiedText } from '../ui/handover.js';
import { List } from '../ui/list.js';
import { useLoaded } from '../ui/load.js';
import { GrantList, GrantsText, LEAST, useGroupNames } from './grants.js';
import { useHomes } from './named.js';
import { SignInLink } from './sign-in-link.js';

const ON_RETURN = { onReturn: true };

export function Tokens() {
  const homes = useHomes();
  const tokens = useLoaded(listAccessTokens, [], ON_RETURN);
  const groups = useGroupNames(tokens.data?.flatMap(({ grants }) => grants) ?? [], homes);
  return (
    <List
      title={t('Access tokens', 'Zugangstokens')}
      hint={t(
        'For people, nurse-call systems and scripts. The administrator’s own, in admin.token, is not listed.',
        'Für Menschen, Rufanlagen und Skripte. Der eigene der Verwaltung, in admin.token, steht nicht in der Liste.',
      )}
      loaded={tokens}
      rows={tokens.data}
      keyOf={({ id }) => id}
      textOf={({ id, name }) => `${name} ${id}`}
      empty={t('There are no access tokens.', 'Es gibt keine Zugangstokens.')}
      tools={
        <button
          type="button"
          class="primary"
          onClick={() => openDialog(<NewToken onDone={tokens.again} />)}
        >
          {newTitle()}
        </button>
      }
      columns={[
        [t('Name', 'Name'), (token) => <NameAndId token={token} />],
        [
          t('May', 'Darf'),
          ({ grants }) => <GrantsText grants={grants} homes={homes} groups={groups} />,
        ],
        [t('Created', 'Angelegt'), ({ createdAt }) => dateTime(createdAt)],
        [
          t('Last used', 'Zuletzt benutzt'),
          ({ lastUsedAt: at }) => (at === null ? t('never', 'nie') : <TimeAgo at={at} />),
        ],
        [
          t('Ends', 'Endet'),
          ({ expiresAt: at }) => (at === null ? t('never', 'nie') : <End at={at} />),
        ],
        [t('Actions', 'Aktionen'), (token) => <Actions token={token} onDone={tokens.again} />],
      ]}
    />
  );
}

function NameAndId({ token: { id, name } }: { readonly token: AccessToken }) {
  return (
    <>
      <strong>{name}</strong>
      <br />
      <span class="hint">{t('MQTT user name:', 'MQTT-Benutzername:')}</span>{' '}
      <CopiedText
        text={id}
        label={t(`Copy the MQTT user name of ${name}`, `MQTT-Benutzernamen von ${name} kopieren`)}
      />
    </>
  );
}

function End({ at }: { readonly at: string }) {
  const text = dateTime(at);
  if (Date.parse(at) > live.clock.now()) return <>{text}</>;
  return (
    <span class="bad">
      {text} ({t('has expired', 'ist abgelaufen')})
    </span>
  );
}

interface OfToken {
  readonly token: AccessToken;
  /** Called after the change, to read the list again. */
  readonly onDone: () => void;
}

const newTitle = () => t('New access token', 'Neuer Zugangstoken');
const changeTitle = (name: string) => t(`Change ${name}`, `${name} ändern`);
const renewTitle = (name: string) => t(`Renew ${name}`, `${name} erneuern`);
const revokeTitle = (name: string) => t(`Revoke ${name}`, `${name} widerrufen`);

function Actions({ token, onDone }: OfToken) {
  const { name } = token;
  return (
    <span class="row">
      <button
        type="button"
        aria-label={changeTitle(name)}
        onClick={() => openDialog(<ChangeToken token={token} onDone={onDone} />)}
      >
        {t('Change', 'Ändern')}
      </button>
      <button
        type="button"
        aria-label={renewTitle(name)}
        onClick={() => openDialog(<RenewToken token={token} onDone={onDone} />)}
      >
        {t('Renew', 'Erneuern')}
      </button>
      <button
        type="button"
        class="danger"
        aria-label={revokeTitle(name)}
        onClick={() => openDialog(<RevokeToken token={token} onDone={onDone} />)}
      >
        {t('Revoke', 'Widerrufen')}
      </button>
    </span>
  );
}

function NewToken({ onDone }: Pick<OfToken, 'onDone'>) {
  const { fields, body } = useTokenFields();
  return (
    <ChangeDialog
      title={newTitle()}
      submit={t('Create', 'Anlegen')}
      request={() => createAccessToken(body())}
      onDone={(made) => {
        onDone();
        openDialog(<IssuedToken issued={made} />);
      }}
    >
      {fields}
    </ChangeDialog>
  );
}

function ChangeToken({ token, onDone }: OfToken) {
  const { fields, body } = useTokenFields(token);
  return (
    <ChangeDialog
      title={changeTitle(token.name)}
      submit={t('Save', 'Speichern')}
      request={() => updateAccessToken({ tokenId: token.id }, body())}
      onDone={onDone}
    >
      {fields}
    </ChangeDialog>
  );
}

/** The fields of a token, filled with what it has, and what is to be sent. */
function useTokenFields(token?: AccessToken) {
  const homes = useHomes();
  const [name, setName] = useState(token?.name ?? '');
  const [grants, setGrants] = useState(token?.grants ?? [LEAST]);
  const endsAt = token?.expiresAt ?? null;
  const [end, setEnd] = useState(endsAt === null ? '' : localTime(endsAt));
  const fields = (
    <>
      <NameText value={name} onChange={setName} />
      <GrantList initial={grants} homes={homes} onChange={(changed) => setGrants([...changed])} />
      <Text
        label={t('Ends at (empty: never)', 'Endet am (leer: nie)')}
        type="datetime-local"
        value={end}
        onChange={setEnd}
      />
    </>
  );
  const body = () => {
    // The field has no seconds: an end that nobody has touched must not change.
    const isKept = endsAt !== null && end === localTime(endsAt);
    const expiresAt = end === '' ? null : new Date(end).toISOString();
    return { name, grants, expiresAt: isKept ? endsAt : expiresAt };
  };
  return { fields, body };
}

/** A time as a field shows it: in the browser's time zone, without seconds. */
function localTime(at: string): string {
  const time = new Date(at);
  time.setMinutes(time.getMinutes() - time.getTimezoneOffset());
  return time.toISOString().slice(0, 16);
}

function RenewToken({ token, onDone }: OfToken) {
  return (
    <ChangeDialog
      title={renewTitle(token.name)}
      submit={t('Renew', 'Erneuern')}
      isDangerous
      request={() => replaceAccessTokenSecret({ tokenId: token.id })}
      onDone={(renewed) => {
        onDone();
        openDialog(<IssuedToken issued={{ ...token, ...renewed }} />);
      }}
    >
      <p>
        {t(
          'The old token ends at once, and connections with it are closed. The user name stays, and so do the sessions and what waits in them.',
          'Der alte Token gilt sofort nicht mehr, und Verbindungen mit ihm werden geschlossen. Der Benutzername bleibt, ebenso die Sitzungen und was in ihnen wartet.',
        )}
      </p>
      <p>{t('The new one is shown once.', 'Der neue wird einmal gezeigt.')}</p>
    </ChangeDialog>
  );
}

function RevokeToken({ token, onDone }: OfToken) {
  const close = useCloseDialog();
  return (
    <ChangeDialog
      title={revokeTitle(token.name)}
      submit={t('Revoke', 'Widerrufen')}
      isDangerous
      request={() => deleteAccessToken({ tokenId: token.id })}
      onDone={onDone}
    >
      <p>
        {t(
          'The token ends at once, and its connections are closed. Its sessions are deleted, and with them the alarms that wait in them.',
          'Der Token gilt sofort nicht mehr, und seine Verbindungen werden geschlossen. Seine Sitzungen werden gelöscht, und mit ihnen die Alarme, die darin warten.',
        )}
      </p>
      <p class="row">
        {t(
          'Is only the token lost, or known to others?',
          'Ist nur der Token verloren oder anderen bekannt?',
        )}
        <button
          type="button"
          onClick={() => {
            close();
            openDialog(<RenewToken token={token} onDone={onDone} />);
          }}
        >
          {t('Renew keeps them', 'Erneuern behält sie')}
        </button>
      </p>
    </ChangeDialog>
  );
}

interface IssuedTokenProps {
  readonly issued: Pick<AccessToken, 'id' | 'name' | 'grants'> & { readonly token: string };
}

/** Shows a new token, which can never be seen again. */
function IssuedToken({ issued: { id, name, grants, token } }: IssuedTokenProps) {
  const close = useCloseDialog();
  const leaveQuestion = t(
    'The access token is not shown again. Close it?',
    'Der Zugangstoken wird nicht noch einmal angezeigt. Schließen?',
  );
  useKeptPlace(leaveQuestion);
  return (
    <Dialog
      title={t('The new access token', 'Der neue Zugangstoken')}
      leaveQuestion={leaveQuestion}
    >
      <div class="form">
        <p>
          {t(
            `This is the access token of ${name}. It is shown only now: keep it safe.`,
            `Das ist der Zugangstoken von ${name}. Er wird nur jetzt gezeigt: Bewahren Sie ihn sicher auf.`,
          )}
        </p>
        <CopiedField text={id} label={t('MQTT user name', 'MQTT-Benutzername')} />
        <CopiedField text={token} label={t('Access token', 'Zugangstoken')} />
        {grants.some(({ role }) => role !== 'publisher') && (
          <SignInLink token={token} isKiosk={false} />
        )}
        <div class="row">
          <button type="button" class="primary" onClick={close}>
            {t('Done', 'Fertig')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
