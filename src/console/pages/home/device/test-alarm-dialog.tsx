import { useState } from 'preact/hooks';
import { KIND_WORDS, KINDS, type Kind, kindOf } from '../../../alarms/kinds.js';
import { type Device, raiseTestAlarm } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { DEVICE_WORDS } from './device-words.js';

interface TestAlarmDialogProps {
  readonly device: Device;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

/** Sends an alarm as the device would, marked as a test. */
export function TestAlarmDialog({ device, onDone, onClose }: TestAlarmDialogProps) {
  const words = useWords(DEVICE_WORDS);
  const kinds = useWords(KIND_WORDS);
  const [kind, setKind] = useState<Kind>('helpCall');
  const { id, name, locationId } = device;
  return (
    <ChangeDialog
      title={words.testAlarmTitle(name)}
      submit={words.testAlarmConfirm}
      request={() => raiseTestAlarm({ locationId, deviceId: id }, { kind })}
      onDone={() => onDone(words.testAlarmSent)}
      onClose={onClose}
    >
      <p>{words.testAlarmHint}</p>
      <label>
        {words.testAlarmKind}
        <select
          value={kind}
          onChange={({ currentTarget }) => setKind(kindOf(currentTarget.value) ?? kind)}
        >
          {KINDS.map((one) => (
            <option key={one} value={one}>
              {kinds[one]}
            </option>
          ))}
        </select>
      </label>
    </ChangeDialog>
  );
}
