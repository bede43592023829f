/**
 * Creates many devices from a table. One table is the preview, the progress and the result: each row says what is wrong
 * with it, what will be created, or that it is made. In the end there are the secrets.
 */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { number, t } from '../language.js';
import { goTo, useKeptPlace } from '../place.js';
import { FailureText } from '../ui/bits.js';
import { ChangeDialog, openDialog } from '../ui/dialog.js';
import { List } from '../ui/list.js';
import { GroupChoice } from './edit.js';
import { HomeFrame, useThisHome } from './frame.js';
import type { Home } from './home.js';
import {
  comparedRows,
  decodeTable,
  Import,
  type ImportRow,
  MAX_ROWS,
  parseDevices,
  type RowFault,
  type RowNote,
} from './import.js';
import { IssuedDevices } from './issued.js';

const title = () => t('Many devices from a table', 'Viele Geräte aus einer Tabelle');

export function ImportPage({ locationId }: { readonly locationId: string }) {
  return (
    <HomeFrame locationId={locationId} isBelow>
      <ImportForm />
    </HomeFrame>
  );
}

function ImportForm() {
  const { home, rights } = useThisHome();
  const [text, setText] = useState('');
  const [begun, setBegun] = useState<Import>();
  const [isShown, setShown] = useState(false);
  const table = useMemo(() => parseDevices(text), [text]);
  const planned = useMemo(() => comparedRows(table.rows, home), [table, home]);
  const rows = begun?.rows.value ?? planned;
  const isRunning = begun?.isRunning.value ?? false;
  const issued = rows.flatMap((row) => row.issued ?? []);
  const isAllMade = issued.length === rows.length;
  const showsSecrets = issued.length > 0 && !isRunning && (isAllMade || isShown);
  // After leaving the page, it must not create devices whose secrets nobody sees.
  useEffect(() => () => begun?.stop(), [begun]);
  // The page that shows the secrets asks itself.
  useKeptPlace(
    text !== '' && !showsSecrets ? leaveQuestion(isRunning || issued.length > 0) : undefined,
  );
  if (!rights.mayManageHome) {
    return (
      <p>
        {t(
          'This token may not create devices here.',
          'Dieser Token darf hier keine Geräte anlegen.',
        )}
      </p>
    );
  }
  if (showsSecrets) {
    return (
      <IssuedDevices
        devices={issued}
        homeName={home.location.name}
        separator={table.separator === ';' ? ';' : undefined}
        onDone={() => (isAllMade ? goTo(`/home/${home.location.id}`) : setShown(false))}
      />
    );
  }
  const start = (groupId: string | null) => {
    const started = new Import(home.location.id, groupId, planned);
    setBegun(started);
    void started.create();
  };
  const create = () => {
    if (begun !== undefined) void begun.create();
    else if (missing(planned).length === 0) start(null);
    else openDialog(<NewRoomsDialog home={home} rows={planned} onConfirm={start} />);
  };
  const hasFaults = rows.some(({ state }) => state === 'fault');
  return (
    <div class="form">
      <h1>{title()}</h1>
      {begun === undefined ? (
        <TableFields text={text} onText={setText} />
      ) : (
        <Progress done={issued.length} all={rows.length} isRunning={isRunning} />
      )}
      {table.isTooLong && (
        <p class="failure">
          {t(
            `Only the first ${number(MAX_ROWS)} rows are read.`,
            `Nur die ersten ${number(MAX_ROWS)} Zeilen werden gelesen.`,
          )}
        </p>
      )}
      {table.unknownColumns.length > 0 && begun === undefined && (
        <p class="bad">
          {t('Columns that are left out:', 'Spalten, die nicht übernommen werden:')}{' '}
          {table.unknownColumns.join(', ')}
        </p>
      )}
      <div class="row">
        {isRunning ? (
          <button type="button" onClick={() => begun?.stop()}>
            {t('Stop', 'Anhalten')}
          </button>
        ) : (
          <button
            type="button"
            class="primary"
            disabled={rows.length === 0 || hasFaults}
            onClick={create}
          >
            {begun === undefined ? createText(rows.length) : t('Resume', 'Fortsetzen')}
          </button>
        )}
        {!isRunning && issued.length > 0 && (
          <button type="button" onClick={() => setShown(true)}>
            {t('Show the secrets of those created', 'Geheimnisse der angelegten zeigen')}
          </button>
        )}
      </div>
      {rows.length > 0 && <Rows rows={rows} />}
    </div>
  );
}

function leaveQuestion(areSomeMade: boolean): string {
  return areSomeMade
    ? t(
        'Devices have been created. Leave anyway? Their secrets would be lost.',
        'Es sind Geräte angelegt worden. Trotzdem verlassen? Ihre Geheimnisse gingen verloren.',
      )
    : t(
        'The devices are not created yet. Leave anyway? The lines would be lost.',
        'Die Geräte sind noch nicht angelegt. Trotzdem verlassen? Die Zeilen gingen verloren.',
      );
}

function createText(count: number): string {
  return count === 1
    ? t('Create 1 device', '1 Gerät anlegen')
    : t(`Create ${number(count)} devices`, `${number(count)} Geräte anlegen`);
}

interface TableFieldsProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

function TableFields({ text, onText }: TableFieldsProps) {
  return (
    <>
      <p class="hint">
        {t(
          'A line for each device: its name, and its room if it is in one. Paste the cells from a spreadsheet, or take a CSV with semicolons or commas. With a header (name, room, group, customData) also the group of the room, and custom data as a JSON object.',
          'Eine Zeile für jedes Gerät: sein Name und sein Zimmer, wenn es in einem ist. Fügen Sie die Zellen aus einer Tabelle ein, oder nehmen Sie eine CSV-Datei mit Semikolon oder Komma. Mit einer Kopfzeile (Name, Zimmer, Gruppe, customData) auch die Gruppe des Zimmers, und eigene Daten als JSON-Objekt.',
        )}
      </p>
      <label>
        {t('File', 'Datei')}
        <input
          type="file"
          accept=".csv,.txt,.tsv,text/csv,text/plain,text/tab-separated-values"
          onChange={async ({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            if (file !== undefined) onText(decodeTable(new Uint8Array(await file.arrayBuffer())));
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

interface ProgressProps {
  readonly done: number;
  readonly all: number;
  readonly isRunning: boolean;
}

function Progress({ done, all, isRunning }: ProgressProps) {
  return (
    <>
      <p role="status">
        {isRunning
          ? t(`${done} of ${all} created`, `${done} von ${all} angelegt`)
          : t(
              `Stopped. ${done} of ${all} devices were created.`,
              `Angehalten. ${done} von ${all} Geräten wurden angelegt.`,
            )}
      </p>
      <progress aria-label={title()} max={all} value={done} />
    </>
  );
}

const NOT_LOADED = { failure: undefined, again: () => undefined, pause: undefined };
const ORDER = { fault: 0, failed: 0, new: 1, made: 2 } as const;

/** Those with a fault first, and those that are made last. */
function Rows({ rows }: { readonly rows: readonly ImportRow[] }) {
  const count = rows.filter(({ state }) => state === 'fault').length;
  const hint =
    count === 0 ? undefined : (
      <strong class="bad" role="status">
        {count === 1
          ? t(
              '1 line has a fault. Correct it first.',
              '1 Zeile ist fehlerhaft. Berichtigen Sie sie zuerst.',
            )
          : t(
              `${number(count)} lines have faults. Correct them first.`,
              `${number(count)} Zeilen sind fehlerhaft. Berichtigen Sie sie zuerst.`,
            )}
      </strong>
    );
  return (
    <List
      title={
        rows.length === 1
          ? t('1 device', '1 Gerät')
          : t(`${number(rows.length)} devices`, `${number(rows.length)} Geräte`)
      }
      hint={hint}
      loaded={NOT_LOADED}
      rows={rows.toSorted((one, other) => ORDER[one.state] - ORDER[other.state])}
      empty=""
      keyOf={({ line }) => String(line)}
      columns={[
        [t('Line', 'Zeile'), ({ line }) => line],
        [t('Name', 'Name'), ({ name }) => name],
        [t('Room', 'Zimmer'), ({ room }) => room],
        [t('Group', 'Gruppe'), ({ group }) => group],
        [
          t('Custom data', 'Eigene Daten'),
          ({ customData }) => customData && <code>{customData}</code>,
        ],
        [t('State', 'Zustand'), (row) => <RowState row={row} />],
      ]}
    />
  );
}

function RowState({ row: { state, faults, notes, failure } }: { readonly row: ImportRow }) {
  if (state === 'fault') {
    return <span class="bad">✗ {faults.map((fault) => faultText(fault)).join(' ')}</span>;
  }
  if (state === 'failed') return <FailureText failure={failure} />;
  if (state === 'made') return <span class="good">✓ {t('Created', 'Angelegt')}</span>;
  return (
    <span class="hint">
      {notes.length === 0 ? t('OK', 'In Ordnung') : notes.map((note) => noteText(note)).join(' ')}
    </span>
  );
}

function faultText(fault: RowFault): string {
  const texts: Readonly<Record<RowFault, string>> = {
    'unclosed-quote': t(
      'A quotation mark is opened and not closed.',
      'Ein Anführungszeichen wird nicht geschlossen.',
    ),
    'too-many-cells': t('There are more cells than columns.', 'Es sind mehr Felder als Spalten.'),
    'name-missing': t('There is no name.', 'Der Name fehlt.'),
    'too-long': t('A name has more than 120 characters.', 'Ein Name hat mehr als 120 Zeichen.'),
    invalid: t(
      'A name has characters that cannot be shown.',
      'Ein Name enthält Zeichen, die sich nicht darstellen lassen.',
    ),
    'room-ambiguous': t('Several rooms have this name.', 'Mehrere Zimmer heißen so.'),
    'group-ambiguous': t('Several groups have this name.', 'Mehrere Gruppen heißen so.'),
    'group-without-room': t(
      'There is a group, but no room to put in it.',
      'Eine Gruppe ist angegeben, aber kein Zimmer.',
    ),
    'room-in-other-group': t(
      'The room is in another group.',
      'Das Zimmer ist in einer anderen Gruppe.',
    ),
    'custom-data-invalid': t(
      'The custom data is not a JSON object.',
      'Eigene Daten: kein JSON-Objekt.',
    ),
    'custom-data-too-large': t(
      'The custom data has more than 1024 bytes.',
      'Eigene Daten: mehr als 1024 Byte.',
    ),
  };
  return texts[fault];
}

function noteText(note: RowNote): string {
  const texts: Readonly<Record<RowNote, string>> = {
    repeated: t(
      'An earlier line is the same. Two devices will be created.',
      'Eine frühere Zeile ist gleich. Es werden zwei Geräte angelegt.',
    ),
    existing: t(
      'There is such a device in this room already. Another one will be created.',
      'In diesem Zimmer gibt es schon ein solches Gerät. Es wird ein weiteres angelegt.',
    ),
    'room-new': t('The room will be created.', 'Das Zimmer wird angelegt.'),
    'group-new': t('The group will be created.', 'Die Gruppe wird angelegt.'),
    'room-grouped': t(
      'The room is in no group yet. It will be put into this one.',
      'Das Zimmer ist noch in keiner Gruppe. Es kommt in diese.',
    ),
  };
  return texts[note];
}

/** The names of groups and rooms that do not exist yet, groups first. */
function missing(rows: readonly ImportRow[]): readonly { name: string; isRoom: boolean }[] {
  const named = (note: RowNote, column: 'group' | 'room') =>
    rows.filter(({ notes }) => notes.includes(note)).map((row) => row[column]);
  return [
    ...[...new Set(named('group-new', 'group'))].map((name) => ({ name, isRoom: false })),
    ...[...new Set(named('room-new', 'room'))].map((name) => ({ name, isRoom: true })),
  ];
}

interface NewRoomsDialogProps {
  readonly home: Home;
  readonly rows: readonly ImportRow[];
  readonly onConfirm: (groupId: string | null) => void;
}

/** Asks before it creates groups and rooms: a mistyped name would become one. */
function NewRoomsDialog({ home, rows, onConfirm }: NewRoomsDialogProps) {
  const [groupId, setGroupId] = useState<string | null>(null);
  const names = missing(rows);
  return (
    <ChangeDialog
      title={roomsTitle(names)}
      submit={t('Create rooms and devices', 'Zimmer und Geräte anlegen')}
      request={async () => groupId}
      onDone={onConfirm}
    >
      <p>
        {t(
          'These do not exist yet. They are created with the devices.',
          'Dies gibt es noch nicht. Es wird mit den Geräten angelegt.',
        )}
      </p>
      <ul>
        {names.map(({ name, isRoom }) => (
          <li key={`${isRoom}${name}`}>{name}</li>
        ))}
      </ul>
      {rows.some(({ notes, group }) => notes.includes('room-new') && group === '') && (
        <GroupChoice home={home} value={groupId} onChange={setGroupId} />
      )}
    </ChangeDialog>
  );
}

function roomsTitle(names: readonly { readonly isRoom: boolean }[]): string {
  const rooms = names.filter(({ isRoom }) => isRoom).length;
  const groups = names.length - rooms;
  const parts = [
    groups === 1 && t('1 group', '1 Gruppe'),
    groups > 1 && t(`${groups} groups`, `${groups} Gruppen`),
    rooms > 0 && t(rooms === 1 ? '1 room' : `${rooms} rooms`, `${rooms} Zimmer`),
  ].filter((part) => part !== false);
  return t(`Create ${parts.join(' and ')}?`, `${parts.join(' und ')} anlegen?`);
}
