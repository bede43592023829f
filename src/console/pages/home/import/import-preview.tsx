import { t } from '../../../language.js';
import type { ImportPlan, LineFault, PlannedLine } from './import-plan.js';

const faultTexts = (): Readonly<Record<LineFault, string>> => ({
  'unclosed-quote': t(
    'A quotation mark is opened and not closed.',
    'Ein Anführungszeichen wird nicht geschlossen.',
  ),
  'too-many-columns': t('There are more cells than columns.', 'Es sind mehr Felder als Spalten.'),
  'name-missing': t('There is no name.', 'Der Name fehlt.'),
  'name-too-long': t(
    'The name has more than 120 characters.',
    'Der Name hat mehr als 120 Zeichen.',
  ),
  'name-invalid': t(
    'The name has characters that cannot be shown.',
    'Der Name enthält Zeichen, die sich nicht darstellen lassen.',
  ),
  'room-too-long': t(
    'The room has more than 120 characters.',
    'Das Zimmer hat mehr als 120 Zeichen.',
  ),
  'room-invalid': t(
    'The room has characters that cannot be shown.',
    'Das Zimmer enthält Zeichen, die sich nicht darstellen lassen.',
  ),
  'room-ambiguous': t('Several rooms have this name.', 'Mehrere Zimmer heißen so.'),
  'group-too-long': t(
    'The group has more than 120 characters.',
    'Die Gruppe hat mehr als 120 Zeichen.',
  ),
  'group-invalid': t(
    'The group has characters that cannot be shown.',
    'Die Gruppe enthält Zeichen, die sich nicht darstellen lassen.',
  ),
  'group-without-room': t(
    'There is a group, but no room to put in it.',
    'Eine Gruppe ist angegeben, aber kein Zimmer.',
  ),
  'group-ambiguous': t('Several groups have this name.', 'Mehrere Gruppen heißen so.'),
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
    'Eigene Daten: mehr als 1024 Bytes.',
  ),
});

/** Correct lines beyond this many are only counted; up to as many lines with a fault are shown, too. */
const MAX_SHOWN = 200;

/** What an import would create, line by line; lines with faults first. */
export function ImportPreview({ plan }: { readonly plan: ImportPlan }) {
  const faulty = plan.lines.filter(({ faults }) => faults.length > 0).slice(0, MAX_SHOWN);
  const inOrder = plan.lines.filter(({ faults }) => faults.length === 0);
  const left = inOrder.length - MAX_SHOWN;
  return (
    <>
      <p role="status">
        {plan.lines.length === 1
          ? t('1 device', '1 Gerät')
          : t(`${plan.lines.length} devices`, `${plan.lines.length} Geräte`)}
        {plan.faultCount > 0 && (
          <>
            {' · '}
            <strong class="home-fault">
              {plan.faultCount === 1
                ? t(
                    '1 line has a fault. Correct it first.',
                    '1 Zeile ist fehlerhaft. Berichtigen Sie sie zuerst.',
                  )
                : t(
                    `${plan.faultCount} lines have faults. Correct them first.`,
                    `${plan.faultCount} Zeilen sind fehlerhaft. Berichtigen Sie sie zuerst.`,
                  )}
            </strong>
          </>
        )}
      </p>
      {plan.unknownColumns.length > 0 && (
        <p class="home-fault">
          {t(
            `Columns that are left out: ${plan.unknownColumns.join(', ')}`,
            `Spalten, die nicht übernommen werden: ${plan.unknownColumns.join(', ')}`,
          )}
        </p>
      )}
      <table class="home-preview">
        <thead>
          <tr>
            <th scope="col">{t('Line', 'Zeile')}</th>
            <th scope="col">{t('Name', 'Name')}</th>
            <th scope="col">{t('Room', 'Zimmer')}</th>
            <th scope="col">{t('Group', 'Gruppe')}</th>
            <th scope="col">{t('Custom data', 'Eigene Daten')}</th>
            <th scope="col">{t('Check', 'Prüfung')}</th>
          </tr>
        </thead>
        <tbody>
          {[...faulty, ...inOrder.slice(0, MAX_SHOWN)].map((line) => (
            <PreviewRow key={line.line} line={line} />
          ))}
        </tbody>
      </table>
      {left > 0 && (
        <p class="hint">
          {t(`And ${left} more lines in order`, `Und ${left} weitere Zeilen in Ordnung`)}
        </p>
      )}
    </>
  );
}

function PreviewRow({ line }: { readonly line: PlannedLine }) {
  const notes = [
    ...(line.isRepeated
      ? [
          t(
            'An earlier line is the same. Two devices will be created.',
            'Eine frühere Zeile ist gleich. Es werden zwei Geräte angelegt.',
          ),
        ]
      : []),
    ...(line.isExisting
      ? [
          t(
            'There is such a device in this room already. Another one will be created.',
            'In diesem Zimmer gibt es schon ein solches Gerät. Es wird ein weiteres angelegt.',
          ),
        ]
      : []),
    ...(line.isRoomNew ? [t('The room will be created.', 'Das Zimmer wird angelegt.')] : []),
    ...(line.isGroupNew ? [t('The group will be created.', 'Die Gruppe wird angelegt.')] : []),
    ...(line.isRoomGrouped
      ? [
          t(
            'The room is in no group yet. It will be put into this one.',
            'Das Zimmer ist noch in keiner Gruppe. Es kommt in diese.',
          ),
        ]
      : []),
  ];
  const isFaulty = line.faults.length > 0;
  return (
    <tr>
      <td>{line.line}</td>
      <td>{line.name}</td>
      <td>{line.room}</td>
      <td>{line.group}</td>
      <td>{line.customData}</td>
      <td class={isFaulty ? 'home-fault' : 'hint'}>
        {isFaulty && `✗ ${line.faults.map((fault) => faultTexts()[fault]).join(' ')}`}
        {!isFaulty && (notes.length === 0 ? t('In order', 'In Ordnung') : notes.join(' '))}
      </td>
    </tr>
  );
}
