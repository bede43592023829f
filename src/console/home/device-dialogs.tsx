/** What is asked before a device sends a test alarm, and before it gets a new secret. */

import { useState } from 'preact/hooks';
import { type Device, raiseTestAlarm, replaceDeviceSecret } from '../api.js';
import { KINDS, type Kind, kindName } from '../kinds.js';
import { t } from '../language.js';
import { ChangeDialog } from '../ui/dialog.js';
import { Choice } from '../ui/fields.js';

interface TestAlarmDialogProps {
  readonly device: Pick<Device, 'id' | 'name' | 'locationId'>;
  readonly onDone: (said: string) => void;
}

/** Sends an alarm as the device would, marked as a test. */
export function TestAlarmDialog({ device, onDone }: TestAlarmDialogProps) {
  const [kind, setKind] = useState<Kind>('helpCall');
  const { id, name, locationId } = device;
  return (
    <ChangeDialog
      title={t(`Send a test alarm as ${name}?`, `Testalarm als ${name} senden?`)}
      submit={t('Send', 'Senden')}
      request={() => raiseTestAlarm({ locationId, deviceId: id }, { kind })}
      onDone={() => onDone(t('The test alarm was sent.', 'Der Testalarm wurde gesendet.'))}
    >
      <p>
        {t(
          'It goes the way of every alarm, to everyone who receives those of this home, and is marked as a test.',
          'Er geht den Weg jedes Alarms, an alle, die die Alarme dieses Heims empfangen, und ist als Test gekennzeichnet.',
        )}
      </p>
      <Choice
        label={t('Kind', 'Art')}
        value={kind}
        options={KINDS.map((one) => [one, kindName(one)])}
        onChange={setKind}
      />
    </ChangeDialog>
  );
}

interface NewSecretDialogProps {
  readonly device: Device;
  readonly onDone: (secret: string) => void;
}

/** Replaces the secret: the device must then be set up again. */
export function NewSecretDialog({
  device: { id, name, locationId },
  onDone,
}: NewSecretDialogProps) {
  return (
    <ChangeDialog
      title={t(`A new secret for ${name}?`, `Neues Geheimnis für ${name}?`)}
      submit={t('Make a new secret', 'Neues Geheimnis erzeugen')}
      isDangerous
      request={() => replaceDeviceSecret({ locationId, deviceId: id })}
      onDone={({ secret }) => onDone(secret)}
    >
      <p>
        {t(
          'The old secret stops working at once, and the device is disconnected. It must then be set up again. Place, name and history stay.',
          'Das alte Geheimnis gilt sofort nicht mehr, und die Verbindung wird getrennt. Das Gerät muss danach neu eingerichtet werden. Ort, Name und Verlauf bleiben.',
        )}
      </p>
    </ChangeDialog>
  );
}
