/** The access tokens: who has one, what it may do, and their creation, change, renewal and end. */

import type { VNode } from 'preact';
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
import { SignInLink } from './sign-in-link.js';

const ON_RETURN = { onReturn: true };

export function Tokens() {
  const tokens = useLoaded(listAccessTokens, [], ON_RETURN);
  const groups = useGroupNames(tokens.data?.flatMap(({ grants }) => grants) ?? []);
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
          onClick={() => openDialog(<EditToken onDone={tokens.again} />)}
        >
          {newTitle()}
        </button>
      }
      columns={[
        [t('Name', 'Name'), (token) => <NameAndId token={token} />],
        [t('May', 'Darf'), ({ grants }) => <GrantsText grants={grants} groups={groups} />],
        [t('Created', 'Angelegt'), ({ createdAt }) => dateTime(createdAt)],
        [
          t('Last used', 'Zuletzt benutzt'),
          ({ lastUsedAt: at }) => (at === null ? t('never', 'nie') : <TimeAgo at={at} />),
        ],
        [
          t('Ends', 'Endet'),
          ({ expiresAt: at }) => (at === null ? t('never', 'nie') : <End at={at} />),
        ],
        [
          t('Networks', 'Netze'),
          ({ networks }) => networks?.join(', ') ?? t('everywhere', 'überall'),
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

function Actions(of: OfToken) {
  const { name } = of.token;
  const button = (text: string, title: string, dialog: VNode, look = '') => (
    <button type="button" class={look} aria-label={title} onClick={() => openDialog(dialog)}>
      {text}
    </button>
  );
  return (
    <span class="row">
      {button(t('Change', 'Ändern'), changeTitle(name), <EditToken {...of} />)}
      {button(t('Renew', 'Erneuern'), renewTitle(name), <RenewToken {...of} />)}
      {button(t('Revoke', 'Widerrufen'), revokeTitle(name), <RevokeToken {...of} />, 'danger')}
    </span>
  );
}

/** Creates a token, or changes one. */
function EditToken({ token, onDone }: Partial<Pick<OfToken, 'token'>> & Pick<OfToken, 'onDone'>) {
  const [name, setName] = useState(token?.name ?? '');
  const [grants, setGrants] = useState(token?.grants ?? [LEAST]);
  const [networks, setNetworks] = useState(token?.networks?.join(', ') ?? '');
  const endsAt = token?.expiresAt ?? null;
  const [end, setEnd] = useState(localTime(endsAt));
  // The field has no seconds: an end that nobody has touched must not change.
  const expiresAt = () =>
    end === localTime(endsAt) ? endsAt : end === '' ? null : new Date(end).toISOString();
  const send = async () => {
    const given = networks.split(/[,\s]+/).filter((network) => network !== '');
    const limits = { expiresAt: expiresAt(), networks: given.length > 0 ? given : null };
    const body = { name, grants, ...limits };
    if (token === undefined) return createAccessToken(body);
    await updateAccessToken({ tokenId: token.id }, body);
    return undefined;
  };
  return (
    <ChangeDialog
      title={token === undefined ? newTitle() : changeTitle(token.name)}
      submit={token === undefined ? t('Create', 'Anlegen') : t('Save', 'Speichern')}
      request={send}
      onDone={(issued) => {
        onDone();
        if (issued !== undefined) openDialog(<IssuedToken issued={issued} />);
      }}
    >
      <NameText value={name} onChange={setName} />
      <GrantList initial={grants} onChange={setGrants} />
      <Text
        label={t('Ends at (empty: never)', 'Endet am (leer: nie)')}
        type="datetime-local"
        value={end}
        onChange={setEnd}
      />
      <Text
        label={t(
          'Only from these networks (empty: from everywhere)',
          'Nur aus diesen Netzen (leer: von überall)',
        )}
        placeholder="192.168.1.0/24"
        value={networks}
        onChange={setNetworks}
      />
    </ChangeDialog>
  );
}

/** A time as a field shows it: in the browser's time zone, without seconds; empty for none. */
function localTime(at: string | null): string {
  if (at === null) return '';
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
