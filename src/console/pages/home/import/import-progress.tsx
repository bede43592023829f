import { useState } from 'preact/hooks';
import { useWords } from '../../../console-parts.js';
import { csvText } from '../../../ui/csv.js';
import { FailureText } from '../../../ui/failure-text.js';
import { saveFile } from '../../../ui/save-file.js';
import type { IssuedDevice } from '../issued/issue-device.js';
import { IssuedDevices } from '../issued/issued-devices.js';
import { useKeptPage } from '../use-kept-page.js';
import type { ImportRun, ImportState } from './import-run.js';
import { IMPORT_WORDS } from './import-words.js';

interface ImportProgressProps {
  readonly run: ImportRun;
  readonly homeName: string;
  readonly separator: string;
  readonly onDone: () => void;
}

/** The progress of an import, and its secrets once it is done or has stopped. */
export function ImportProgress({ run, homeName, separator, onDone }: ImportProgressProps) {
  const words = useWords(IMPORT_WORDS);
  const state = run.state.value;
  const { isRunning, issued, rest } = state;
  const [isShown, setShown] = useState(false);
  const showsSecrets = !isRunning && issued.length > 0 && (rest.length === 0 || isShown);
  // The page that shows the secrets asks itself.
  useKeptPage(!showsSecrets && (isRunning || issued.length > 0) ? words.leave : undefined);
  const all = issued.length + rest.length;
  const download = () => {
    const text = issuedCsv(issued, separator);
    saveFile(`${words.fileName}.csv`, new Blob([text], { type: 'text/csv;charset=utf-8' }));
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
      <h1>{words.title}</h1>
      <p role="status">
        {isRunning ? words.running(issued.length, all) : words.stopped(issued.length, all)}
      </p>
      <progress aria-label={words.title} max={all} value={issued.length} />
      {isRunning ? (
        <div class="buttons">
          <button type="button" onClick={() => run.stop()}>
            {words.stop}
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
  const words = useWords(IMPORT_WORDS);
  const { failure, roomsMade, rest, issued } = state;
  return (
    <>
      <FailureText failure={failure} />
      {roomsMade.length > 0 && <p>{words.roomsMade(roomsMade.join(', '))}</p>}
      <div class="buttons">
        <button type="button" class="primary" onClick={onGoOn}>
          {words.goOn}
        </button>
        {issued.length > 0 && (
          <button type="button" onClick={onShow}>
            {words.showMade}
          </button>
        )}
      </div>
      <p>{words.rest}</p>
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
