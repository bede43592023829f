/** Sends an alarm as a device would, marked as a test. */

import { useState } from 'preact/hooks';
import { type Device, raiseTestAlarm } from '../api.js';
import { KINDS, type Kind, kindName } from '../kinds.js';
import { t } from '../language.js';
import { ChangeDialog } from '../ui/dialog.js';
import { Choice } from '../ui/fields.js';

interface TestAlarmDialogProps {
  readonly device: Pick<Device, 'id' | 'name' | 'locationId'>;
  readonly onDone: (said: string) => void;
}

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
