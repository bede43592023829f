/**
 * The way to the first alarm, for a gateway that has no home yet: create a home, set up a device, send a test alarm.
 * Each step is a button that does it. Whoever may not do so is told whom to ask.
 */

import './home.css';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Device, listDevices, listLocations } from '../api.js';
import { t } from '../language.js';
import { goTo, hrefTo } from '../place.js';
import { session } from '../session.js';
import { FailureText } from '../ui/bits.js';
import { openDialog } from '../ui/dialog.js';
import { useChange, useLoaded } from '../ui/load.js';
import { TestAlarmDialog } from './device-dialogs.js';
import { EditDialog, NewHomeDialog } from './edit.js';
import { type Home, readHome } from './home.js';
import type { IssuedDevice } from './issue.js';
import { IssuedDevices } from './issued.js';

export function FirstSteps() {
  const locations = useLoaded(() => listLocations(), [], { onReturn: true });
  const [issued, setIssued] = useState<IssuedDevice>();
  const change = useChange();
  if (!session.isAdmin.value) return <NotYours />;
  if (locations.data === undefined) {
    return <FailureText failure={locations.failure} onRetry={locations.again} />;
  }
  const home = locations.data.find(({ devices }) => devices.length > 0) ?? locations.data[0];
  if (issued !== undefined && home !== undefined) {
    const done = () => setIssued(undefined);
    return <IssuedDevices devices={[issued]} homeName={home.name} onDone={done} />;
  }
  const createHome = () => {
    const created = () => {
      locations.again();
      // Where the steps go on, also if they were begun on the board.
      goTo('/home');
    };
    openDialog(<NewHomeDialog onDone={created} />);
  };
  const addDevice = (read: Home) =>
    openDialog(
      <EditDialog
        home={read}
        edited={{ what: 'device' }}
        onChanged={locations.again}
        onIssued={(device) => {
          locations.again();
          setIssued(device);
        }}
        onRefused={locations.again}
      />,
    );
  const sendTest = (devices: readonly Device[]) => {
    const [newest] = devices.toSorted((one, other) => other.createdAt.localeCompare(one.createdAt));
    if (newest === undefined) return;
    openDialog(<TestAlarmDialog device={newest} onDone={() => goTo('/')} />);
  };
  const locationId = home?.id ?? '';
  const hasDevice = (home?.devices.length ?? 0) > 0;
  return (
    <section class="card home-steps" aria-labelledby="first-steps">
      <h2 id="first-steps">
        {t('Three steps to the first alarm', 'Drei Schritte bis zum ersten Alarm')}
      </h2>
      <FailureText failure={change.failure} />
      <ol>
        <Step
          text={t('Create the home', 'Heim anlegen')}
          isDone={home !== undefined}
          isNext={home === undefined}
          onDo={createHome}
        >
          {home && <a href={hrefTo(`/home/${locationId}`)}>{home.name}</a>}
        </Step>
        <Step
          text={t('Add a device', 'Gerät anlegen')}
          isDone={hasDevice}
          isNext={home !== undefined && !hasDevice}
          onDo={() => change.send(() => readHome(locationId), addDevice)}
        >
          {t(
            'Then put its secret into the sensor: by its QR code, or typed.',
            'Dann kommt sein Geheimnis in den Sensor: mit dem QR-Code oder getippt.',
          )}
        </Step>
        <Step
          text={t('Send a test alarm', 'Testalarm senden')}
          isDone={false}
          isNext={hasDevice}
          onDo={() => change.send(() => listDevices({ locationId }), sendTest)}
        >
          {t('The board shows it at once.', 'Die Tafel zeigt ihn sofort.')}
        </Step>
      </ol>
    </section>
  );
}

interface StepProps {
  readonly text: string;
  readonly isDone: boolean;
  readonly isNext: boolean;
  readonly onDo: () => void;
  readonly children: ComponentChildren;
}

function Step({ text, isDone, isNext, onDo, children }: StepProps) {
  return (
    <li aria-current={isNext ? 'step' : undefined}>
      <div class="row">
        {isDone ? (
          <strong class="good">
            ✓ {text}
            <span class="visually-hidden"> {t('(done)', '(erledigt)')}</span>
          </strong>
        ) : (
          <button type="button" class={isNext ? 'primary' : ''} disabled={!isNext} onClick={onDo}>
            {text}
          </button>
        )}
        <span class="hint">{children}</span>
      </div>
    </li>
  );
}

function NotYours() {
  return (
    <p>
      {t(
        'There is no home yet that this token may see. Ask whoever looks after the gateway: an administrator creates homes and tokens.',
        'Es gibt noch kein Heim, das dieser Token sehen darf. Fragen Sie, wer das Gateway betreut: Heime und Token legt ein Administrator an.',
      )}
    </p>
  );
}
