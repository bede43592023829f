import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import { hrefTo, useKeptPlace } from '../../../place.js';
import { FailureText } from '../../../ui/bits.js';
import { Dialog } from '../../../ui/old-dialog.js';
import { GroupField } from '../fields.js';
import { type Home, useHome } from '../home-data.js';
import { HomeRights } from '../home-rights.js';
import { usePresence } from '../presence.js';
import { decodeCsv, MAX_LINES, parseDeviceCsv } from './device-csv.js';
import { type ImportPlan, importPlan } from './import-plan.js';
import { ImportPreview } from './import-preview.js';
import { ImportProgress, importTitle } from './import-progress.js';
import { ImportRun } from './import-run.js';

/** Creates many devices together from a CSV. */
export function ImportPage({ locationId }: { readonly locationId: string }) {
  const { session } = useConsole();
  const presence = usePresence(locationId);
  const { data, failure, again } = useHome(locationId, presence);
  if (data === undefined) return <FailureText failure={failure} onRetry={again} />;
  const rights = new HomeRights(session, data);
  if (!rights.mayManageHome)
    return (
      <p>
        {t(
          'This token may not create devices here.',
          'Dieser Token darf hier keine Geräte anlegen.',
        )}
      </p>
    );
  return <ImportForm home={data} rights={rights} />;
}

function ImportForm({ home, rights }: { readonly home: Home; readonly rights: HomeRights }) {
  const { routing } = useConsole();
  const [text, setText] = useState('');
  const [isAsking, setAsking] = useState(false);
  const [run, setRun] = useState<ImportRun>();
  const csv = useMemo(() => parseDeviceCsv(text), [text]);
  const plan = useMemo(() => importPlan(csv, home), [csv, home]);
  // After leaving the page, it must not create devices whose secrets nobody sees.
  useEffect(() => () => run?.stop(), [run]);
  // The page of a started import asks itself.
  useKeptPlace(
    run === undefined && text !== ''
      ? t(
          'The devices are not created yet. Leave all the same? The lines would be lost.',
          'Die Geräte sind noch nicht angelegt. Trotzdem verlassen? Die Zeilen gingen verloren.',
        )
      : undefined,
  );
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
      <h1>{importTitle()}</h1>
      <CsvFields text={text} onText={setText} />
      {csv.isTooLong && (
        <p class="failure">
          {t(
            `Only the first ${MAX_LINES} lines are read.`,
            `Nur die ersten ${MAX_LINES} Zeilen werden gelesen.`,
          )}
        </p>
      )}
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
          {plan.lines.length === 1
            ? t('Create 1 device', '1 Gerät anlegen')
            : t(`Create ${plan.lines.length} devices`, `${plan.lines.length} Geräte anlegen`)}
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
  return (
    <>
      <p class="hint">
        {t(
          'A line for each device: its name, and its room if it is in one. With semicolons or commas, with a header or without. With a header (name, room, group, customData) also the group of the room, and custom data as a JSON object.',
          'Eine Zeile für jedes Gerät: sein Name und sein Zimmer, wenn es in einem ist. Mit Semikolon oder Komma, mit Kopfzeile oder ohne. Mit einer Kopfzeile (Name, Zimmer, Gruppe, customData) auch die Gruppe des Zimmers, und eigene Daten als JSON-Objekt.',
        )}
      </p>
      <label>
        {t('File', 'Datei')}
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
        {t('Or type or paste the lines', 'Oder die Zeilen eingeben oder einfügen')}
        <textarea
          rows={6}
          spellcheck={false}
          placeholder={t('Fall sensor, bed 1; Room 7', 'Sturzsensor, Bett 1; Zimmer 7')}
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
  const [groupId, setGroupId] = useState<string | null>(null);
  return (
    <Dialog title={roomsTitle(plan)} onClose={onClose}>
      <div class="form">
        <p>
          {t(
            'These do not exist yet. They are created with the devices.',
            'Dies gibt es noch nicht. Es wird mit den Geräten angelegt.',
          )}
        </p>
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
            {t('Create rooms and devices', 'Zimmer und Geräte anlegen')}
          </button>
          <button type="button" onClick={onClose}>
            {t('Cancel', 'Abbrechen')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function roomsTitle({
  newRooms: { length: rooms },
  newGroups: { length: groups },
}: ImportPlan): string {
  const parts = [
    ...(groups > 0
      ? [groups === 1 ? t('1 group', '1 Gruppe') : t(`${groups} groups`, `${groups} Gruppen`)]
      : []),
    ...(rooms > 0 ? [t(rooms === 1 ? '1 room' : `${rooms} rooms`, `${rooms} Zimmer`)] : []),
  ];
  return t(`Create ${parts.join(' and ')}?`, `${parts.join(' und ')} anlegen?`);
}
