import { useState } from 'preact/hooks';
import { t } from '../../../language.js';
import { useKeptPlace } from '../../../place.js';
import { FailureText } from '../../../ui/bits.js';
import { csvText } from '../../../ui/csv.js';
import { saveFile } from '../../../ui/handover.js';
import type { IssuedDevice } from '../issued/issue-device.js';
import { IssuedDevices } from '../issued/issued-devices.js';
import type { ImportRun, ImportState } from './import-run.js';

export const importTitle = () => t('Many devices from a CSV', 'Viele Geräte aus einer CSV-Datei');

interface ImportProgressProps {
  readonly run: ImportRun;
  readonly homeName: string;
  readonly separator: string;
  readonly onDone: () => void;
}

/** The progress of an import, and its secrets once it is done or has stopped. */
export function ImportProgress({ run, homeName, separator, onDone }: ImportProgressProps) {
  const state = run.state.value;
  const { isRunning, issued, rest } = state;
  const [isShown, setShown] = useState(false);
  const showsSecrets = !isRunning && issued.length > 0 && (rest.length === 0 || isShown);
  // The page that shows the secrets asks itself.
  useKeptPlace(
    !showsSecrets && (isRunning || issued.length > 0)
      ? t(
          'Devices are being created. Leave all the same? Their secrets would be lost.',
          'Es werden gerade Geräte angelegt. Trotzdem verlassen? Ihre Geheimnisse gingen verloren.',
        )
      : undefined,
  );
  const all = issued.length + rest.length;
  const download = () => {
    const text = issuedCsv(issued, separator);
    saveFile(
      `${t('devices', 'geraete')}.csv`,
      new Blob([text], { type: 'text/csv;charset=utf-8' }),
    );
  };
  if (showsSecrets) {
    return (
      <IssuedDevices
        devices={issued}
        homeName={homeName}
        onDownload={download}
        onDone={rest.length === 0 ? onDone : () => setShown(false)}
      />
    );
  }
  return (
    <div class="form">
      <h1>{importTitle()}</h1>
      <p role="status">
        {isRunning
          ? t(`${issued.length} of ${all} created`, `${issued.length} von ${all} angelegt`)
          : t(
              `Stopped. ${issued.length} of ${all} devices were created.`,
              `Angehalten. ${issued.length} von ${all} Geräten wurden angelegt.`,
            )}
      </p>
      <progress aria-label={importTitle()} max={all} value={issued.length} />
      {isRunning ? (
        <div class="buttons">
          <button type="button" onClick={() => run.stop()}>
            {t('Stop', 'Anhalten')}
          </button>
        </div>
      ) : (
        <Stopped state={state} onGoOn={() => void run.run()} onShow={() => setShown(true)} />
      )}
    </div>
  );
}

interface StoppedProps {
  readonly state: ImportState;
  readonly onGoOn: () => void;
  readonly onShow: () => void;
}

/** An import that stopped halfway: what was created, what was not, and how to continue. */
function Stopped({ state, onGoOn, onShow }: StoppedProps) {
  const { failure, roomsMade, rest, issued } = state;
  return (
    <>
      <FailureText failure={failure} />
      {roomsMade.length > 0 && (
        <p>
          {t(`Rooms created: ${roomsMade.join(', ')}`, `Angelegte Zimmer: ${roomsMade.join(', ')}`)}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={onGoOn}>
          {t('Go on with the rest', 'Mit den übrigen fortfahren')}
        </button>
        {issued.length > 0 && (
          <button type="button" onClick={onShow}>
            {t('Show the secrets of those created', 'Geheimnisse der angelegten zeigen')}
          </button>
        )}
      </div>
      <p>{t('These devices were not created:', 'Diese Geräte wurden nicht angelegt:')}</p>
      <ul class="home-names">
        {rest.map(({ name, room }, index) => (
          <li key={index}>{room === '' ? name : `${name} (${room})`}</li>
        ))}
      </ul>
    </>
  );
}

/** Not translated: programs and the console itself read them. */
const COLUMNS = ['name', 'room', 'deviceId', 'secret'];

function issuedCsv(devices: readonly IssuedDevice[], separator: string): string {
  const rows = devices.map(({ name, roomName, id, secret }) => [name, roomName ?? '', id, secret]);
  return csvText([COLUMNS, ...rows], separator);
}
