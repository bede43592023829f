import { useState } from 'preact/hooks';
import { createDevice } from '../../../api.js';
import { t } from '../../../language.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { NameText } from '../../../ui/fields.js';
import { CopiedText } from '../../../ui/handover.js';
import { LocationSelect } from '../location-select.js';

const createTitle = () => t('Create this device', 'Dieses Gerät anlegen');

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

interface UnknownDeviceProps {
  /** The device part of the hub's topic: an id, or a friendly name. */
  readonly id: string;
}

/** Creates the device that a hub publishes for; under a friendly name, the hub must be told its id. */
export function UnknownDevice({ id }: UnknownDeviceProps) {
  const isId = UUID.test(id);
  const [isOpen, setIsOpen] = useState(false);
  const [created, setCreated] = useState<string>();
  const [name, setName] = useState(isId ? '' : id);
  const [locationId, setLocationId] = useState('');
  if (created !== undefined) {
    return (
      <p role="status">
        {t(
          'Created. Alarms from it are taken under',
          'Angelegt. Seine Alarme werden angenommen unter',
        )}{' '}
        <CopiedText
          text={`devices/${created}/alarms`}
          label={t('Copy the topic', 'Topic kopieren')}
        />
      </p>
    );
  }
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        {createTitle()}
      </button>
      {isOpen && (
        <ChangeDialog
          title={createTitle()}
          submit={t('Create', 'Anlegen')}
          isIncomplete={locationId === ''}
          request={() => createDevice({ locationId }, isId ? { name, id } : { name })}
          onDone={(device) => {
            setIsOpen(false);
            // Under its id the hub publishes already, and the fault ends.
            if (!isId) setCreated(device.id);
          }}
          onClose={() => setIsOpen(false)}
        >
          <NameText value={name} onChange={setName} />
          <LocationSelect
            value={locationId}
            none={t('Choose a home', 'Heim auswählen')}
            onChange={setLocationId}
          />
        </ChangeDialog>
      )}
    </>
  );
}
