/** A device for which a hub publishes, and which does not exist yet: creates it. */

import { useState } from 'preact/hooks';
import { createDevice } from '../api.js';
import { t } from '../language.js';
import { ChangeDialog, openDialog } from '../ui/dialog.js';
import { NameText } from '../ui/fields.js';
import { CopiedText } from '../ui/handover.js';
import { HomeChoice } from './named.js';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const title = () => t('Create this device', 'Dieses Gerät anlegen');

interface UnknownDeviceProps {
  /** The device part of the hub's topic: an id, or a friendly name. */
  readonly id: string;
}

/** The button; after a device got an id of its own, the topic that the hub must be told. */
export function UnknownDevice({ id }: UnknownDeviceProps) {
  const [created, setCreated] = useState<string>();
  if (created === undefined) {
    return (
      <button
        type="button"
        onClick={() => openDialog(<CreateDevice id={id} onCreated={setCreated} />)}
      >
        {title()}
      </button>
    );
  }
  return (
    <span role="status">
      {t(
        'Created. Alarms from it are taken under',
        'Angelegt. Seine Alarme werden angenommen unter',
      )}{' '}
      <CopiedText
        text={`devices/${created}/alarms`}
        label={t('Copy the topic', 'Topic kopieren')}
      />
    </span>
  );
}

interface CreateDeviceProps extends UnknownDeviceProps {
  readonly onCreated: (deviceId: string) => void;
}

function CreateDevice({ id, onCreated }: CreateDeviceProps) {
  const isId = UUID.test(id);
  const [name, setName] = useState(isId ? '' : id);
  const [locationId, setLocationId] = useState('');
  return (
    <ChangeDialog
      title={title()}
      submit={t('Create', 'Anlegen')}
      isIncomplete={locationId === ''}
      request={() => createDevice({ locationId }, isId ? { name, id } : { name })}
      onDone={(device) => {
        // Under its id the hub publishes already, and the fault ends.
        if (!isId) onCreated(device.id);
      }}
    >
      <NameText value={name} onChange={setName} />
      <HomeChoice
        value={locationId}
        none={t('Choose a home', 'Heim auswählen')}
        onChange={setLocationId}
      />
    </ChangeDialog>
  );
}
