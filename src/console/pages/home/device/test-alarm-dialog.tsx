import { useState } from 'preact/hooks';
import { type Device, raiseTestAlarm } from '../../../api.js';
import { KINDS, type Kind, kindName, kindOf } from '../../../kinds.js';
import { t } from '../../../language.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';

interface TestAlarmDialogProps {
  readonly device: Device;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

/** Sends an alarm as the device would, marked as a test. */
export function TestAlarmDialog({ device, onDone, onClose }: TestAlarmDialogProps) {
  const [kind, setKind] = useState<Kind>('helpCall');
  const { id, name, locationId } = device;
  return (
    <ChangeDialog
      title={t(`Send a test alarm as ${name}?`, `Testalarm als ${name} senden?`)}
      submit={t('Send', 'Senden')}
      request={() => raiseTestAlarm({ locationId, deviceId: id }, { kind })}
      onDone={() => onDone(t('The test alarm was sent.', 'Der Testalarm wurde gesendet.'))}
      onClose={onClose}
    >
      <p>
        {t(
          'It goes the way of every alarm, to everyone who receives those of this home, and is marked as a test.',
          'Er geht den Weg jedes Alarms, an alle, die die Alarme dieses Heims empfangen, und ist als Test gekennzeichnet.',
        )}
      </p>
      <label>
        {t('Kind', 'Art')}
        <select
          value={kind}
          onChange={({ currentTarget }) => setKind(kindOf(currentTarget.value) ?? kind)}
        >
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {kindName(one)}
            </option>
          ))}
        </select>
      </label>
    </ChangeDialog>
  );
}
