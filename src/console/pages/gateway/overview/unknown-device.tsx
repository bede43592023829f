import { useState } from 'preact/hooks';
import { createDevice } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { CopiedText } from '../../../ui/copied-text.js';
import { NameField } from '../../home/fields.js';
import { LocationSelect } from '../location-select.js';
import { OVERVIEW_WORDS } from './overview-words.js';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

interface UnknownDeviceProps {
  /** The device part of the hub's topic: an id, or a friendly name. */
  readonly id: string;
}

/** Creates the device that a hub publishes for; under a friendly name, the hub must be told its id. */
export function UnknownDevice({ id }: UnknownDeviceProps) {
  const words = useWords(OVERVIEW_WORDS);
  const isId = UUID.test(id);
  const [isOpen, setIsOpen] = useState(false);
  const [created, setCreated] = useState<string>();
  const [name, setName] = useState(isId ? '' : id);
  const [locationId, setLocationId] = useState('');
  if (created !== undefined) {
    return (
      <p role="status">
        {words.publishUnder}{' '}
        <CopiedText text={`devices/${created}/alarms`} label={words.copyTopic} />
      </p>
    );
  }
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        {words.createDevice}
      </button>
      {isOpen && (
        <ChangeDialog
          title={words.createDevice}
          submit={words.create}
          isIncomplete={locationId === ''}
          request={() => createDevice({ locationId }, isId ? { name, id } : { name })}
          onDone={(device) => {
            setIsOpen(false);
            // Under its id the hub publishes already, and the fault ends.
            if (!isId) setCreated(device.id);
          }}
          onClose={() => setIsOpen(false)}
        >
          <NameField value={name} onInput={setName} />
          <LocationSelect value={locationId} none={words.chooseHome} onChange={setLocationId} />
        </ChangeDialog>
      )}
    </>
  );
}
