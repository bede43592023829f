import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../../console-parts.js';
import { hrefTo } from '../../../routing.js';
import { Dialog } from '../../../ui/dialog.js';
import { FailureText } from '../../../ui/failure-text.js';
import { GroupField } from '../fields.js';
import { type Home, useHome } from '../home-data.js';
import { HomeRights } from '../home-rights.js';
import { HOME_WORDS } from '../home-words.js';
import { usePresence } from '../presence.js';
import { useKeptPage } from '../use-kept-page.js';
import { decodeCsv, parseDeviceCsv } from './device-csv.js';
import { type ImportPlan, importPlan } from './import-plan.js';
import { ImportPreview } from './import-preview.js';
import { ImportProgress } from './import-progress.js';
import { ImportRun } from './import-run.js';
import { IMPORT_WORDS } from './import-words.js';

/** Creates many devices together from a CSV. */
export function ImportPage({ locationId }: { readonly locationId: string }) {
  const { session } = useConsole();
  const words = useWords(IMPORT_WORDS);
  const presence = usePresence(locationId);
  const { data, failure, again } = useHome(locationId, presence);
  if (data === undefined) return <FailureText failure={failure} onRetry={again} />;
  const rights = new HomeRights(session, data);
  if (!rights.mayManageHome) return <p>{words.noRights}</p>;
  return <ImportForm home={data} rights={rights} />;
}

function ImportForm({ home, rights }: { readonly home: Home; readonly rights: HomeRights }) {
  const { routing } = useConsole();
  const words = useWords(IMPORT_WORDS);
  const [text, setText] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [run, setRun] = useState<ImportRun>();
  const csv = useMemo(() => parseDeviceCsv(text), [text]);
  const plan = useMemo(() => importPlan(csv, home), [csv, home]);
  // After leaving the page, it must not create devices whose secrets nobody sees.
  useEffect(() => () => run?.stop(), [run]);
  // The page of a started import asks itself.
  useKeptPage(run === undefined && text !== '' ? words.leaveText : undefined);
  const homePath = `/home/${home.location.id}`;
  const start = (groupId: string | null) => {
    setAsking(false);
    const started = new ImportRun(home.location.id, groupId, plan.lines);
    setRun(started);
    void started.run();
  };
  if (run !== undefined) {
    return (
      <ImportProgress
        run={run}
        homeName={home.location.name}
        separator={csv.separator}
        onDone={() => routing.go(homePath)}
      />
    );
  }
  const mayStart = plan.lines.length > 0 && plan.faultCount === 0;
  return (
    <div class="form">
      <p>
        <a href={hrefTo(homePath)}>{home.location.name}</a>
      </p>
      <h1>{words.title}</h1>
      <CsvFields text={text} onText={setText} />
      {csv.isTooLong && <p class="failure">{words.tooLong}</p>}
      {plan.lines.length > 0 && <ImportPreview plan={plan} />}
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={!mayStart}
          onClick={() =>
            plan.newRooms.length + plan.newGroups.length > 0 ? setAsking(true) : start(null)
          }
        >
          {words.create(plan.lines.length)}
        </button>
      </div>
      {isAsking && (
        <NewRoomsDialog
          plan={plan}
          rights={rights}
          onConfirm={start}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

interface CsvFieldsProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

function CsvFields({ text, onText }: CsvFieldsProps) {
  const words = useWords(IMPORT_WORDS);
  return (
    <>
      <p class="hint">{words.hint}</p>
      <label>
        {words.file}
        <input
          type="file"
          accept=".csv,.txt,text/csv,text/plain"
          onChange={async ({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) onText(decodeCsv(new Uint8Array(await file.arrayBuffer())));
          }}
        />
      </label>
      <label>
        {words.text}
        <textarea
          rows={6}
          spellcheck={false}
          placeholder={words.example}
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      </label>
    </>
  );
}

interface NewRoomsDialogProps {
  readonly plan: ImportPlan;
  readonly rights: HomeRights;
  readonly onConfirm: (groupId: string | null) => void;
  readonly onClose: () => void;
}

/** Asks before it creates groups and rooms: a mistyped name would become one. */
function NewRoomsDialog({ plan, rights, onConfirm, onClose }: NewRoomsDialogProps) {
  const words = useWords(IMPORT_WORDS);
  const homeWords = useWords(HOME_WORDS);
  const [groupId, setGroupId] = useState<string | null>(null);
  return (
    <Dialog title={words.roomsTitle(plan.newRooms.length, plan.newGroups.length)} onClose={onClose}>
      <div class="form">
        <p>{words.roomsHint}</p>
        <ul class="home-names">
          {[...plan.newGroups, ...plan.newRooms].map((name) => (
            <li key={name}>{name}</li>
          ))}
        </ul>
        {plan.lines.some(({ isRoomNew, group }) => isRoomNew && group === '') && (
          <GroupField
            groups={rights.targetGroups()}
            mayBeNone
            value={groupId}
            onChange={setGroupId}
          />
        )}
        <div class="buttons">
          <button type="button" class="primary" onClick={() => onConfirm(groupId)}>
            {words.roomsConfirm}
          </button>
          <button type="button" onClick={onClose}>
            {homeWords.cancel}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
