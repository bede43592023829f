import type { IssuedAccessToken } from '../../../api.js';
import { t } from '../../../language.js';
import { CopiedField } from '../../../ui/handover.js';
import { Dialog } from '../../../ui/old-dialog.js';

interface TokenMadeDialogProps {
  readonly token: IssuedAccessToken;
  readonly onClose: () => void;
}

/** Shows a new token, which can never be seen again. */
export function TokenMadeDialog({ token, onClose }: TokenMadeDialogProps) {
  return (
    <Dialog
      title={t('The new access token', 'Der neue Zugangstoken')}
      leaveQuestion={t(
        'The access token is not shown again. Close it?',
        'Der Zugangstoken wird nicht noch einmal angezeigt. Schließen?',
      )}
      onClose={onClose}
    >
      <div class="form">
        <p>
          {t(
            `This is the access token of ${token.name}. It is shown only now: keep it safe.`,
            `Das ist der Zugangstoken von ${token.name}. Er wird nur jetzt gezeigt: Bewahren Sie ihn sicher auf.`,
          )}
        </p>
        <label>
          {t('Id (the user name over MQTT)', 'ID (der Benutzername über MQTT)')}
          <input readOnly value={token.id} />
        </label>
        <CopiedField text={token.token} label={t('Access token', 'Zugangstoken')} />
        <div class="buttons">
          <button type="button" class="primary" onClick={onClose}>
            {t('Done', 'Fertig')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
