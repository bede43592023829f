/** Makes an access token for a screen on the wall, and shows the link with which it signs in. */

import { useState } from 'preact/hooks';
import { createAccessToken } from '../api.js';
import { GroupChoice } from '../gateway/grants.js';
import { SignInLink } from '../gateway/sign-in-link.js';
import { t } from '../language.js';
import { ALL_HOMES } from '../session.js';
import { ChangeDialog, Dialog, openDialog, useCloseDialog } from '../ui/dialog.js';
import { Choice, Text } from '../ui/fields.js';
import { chosenHomeId, openAlarms } from './open-alarms.js';

const title = () => t('Link for a wall screen', 'Link für einen Wandbildschirm');

export function WallLinkDialog() {
  const homes = openAlarms.homes.value;
  const [name, setName] = useState(t('Wall screen', 'Wandbildschirm'));
  const [role, setRole] = useState<'viewer' | 'responder'>('viewer');
  const [location, setLocation] = useState(chosenHomeId.value ?? homes[0]?.id ?? ALL_HOMES);
  const [group, setGroup] = useState('');
  const grant = { location, role, ...(group !== '' && { group }) };
  return (
    <ChangeDialog
      title={title()}
      submit={t('Make the link', 'Link erstellen')}
      request={() => createAccessToken({ name, grants: [grant] })}
      onDone={({ token }) => openDialog(<MadeLink token={token} />)}
    >
      <p class="hint">
        {t(
          'Makes an access token of its own and puts it into a link. Anyone with the link sees the board without signing in. To take the link back, revoke its token on the page Gateway.',
          'Erstellt einen eigenen Zugangstoken und setzt ihn in einen Link. Wer den Link hat, sieht die Tafel ohne Anmeldung. Um ihn zurückzunehmen, widerrufen Sie seinen Token auf der Seite Gateway.',
        )}
      </p>
      <Text
        label={t('Name of the screen', 'Name des Bildschirms')}
        required
        maxLength={120}
        value={name}
        onChange={setName}
      />
      <Choice
        label={t('Home', 'Heim')}
        value={location}
        options={[
          ...homes.map((home) => [home.id, home.name] as const),
          [ALL_HOMES, t('All homes, also those to come', 'Alle Heime, auch künftige')],
        ]}
        onChange={(chosen) => {
          setLocation(chosen);
          setGroup('');
        }}
      />
      {location !== ALL_HOMES && (
        <GroupChoice locationId={location} value={group} onChange={setGroup} />
      )}
      <Choice
        label={t('What it may do', 'Was er darf')}
        value={role}
        options={[
          ['viewer', t('Show alarms', 'Alarme anzeigen')],
          [
            'responder',
            t(
              'Show alarms, acknowledge and resolve them',
              'Alarme anzeigen, quittieren und erledigen',
            ),
          ],
        ]}
        onChange={setRole}
      />
    </ChangeDialog>
  );
}

function MadeLink({ token }: { readonly token: string }) {
  const close = useCloseDialog();
  return (
    <Dialog
      title={title()}
      leaveQuestion={t(
        'The link is not shown again. Close it?',
        'Der Link wird nicht noch einmal angezeigt. Schließen?',
      )}
    >
      <div class="form">
        <p role="status">
          {t(
            'Open this link on the screen. It is shown only now.',
            'Öffnen Sie diesen Link auf dem Bildschirm. Er wird nur jetzt angezeigt.',
          )}
        </p>
        <SignInLink token={token} isKiosk />
        <button type="button" class="primary" onClick={close}>
          {t('Done', 'Fertig')}
        </button>
      </div>
    </Dialog>
  );
}
