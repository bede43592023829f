import { useWords } from '../../../console-parts.js';
import type { ImportPlan, PlannedLine } from './import-plan.js';
import { IMPORT_WORDS } from './import-words.js';

/** Correct lines beyond this many are only counted; up to as many lines with a fault are shown, too. */
const MAX_SHOWN = 200;

/** What an import would create, line by line; lines with faults first. */
export function ImportPreview({ plan }: { readonly plan: ImportPlan }) {
  const words = useWords(IMPORT_WORDS);
  const faulty = plan.lines.filter(({ faults }) => faults.length > 0).slice(0, MAX_SHOWN);
  const inOrder = plan.lines.filter(({ faults }) => faults.length === 0);
  const left = inOrder.length - MAX_SHOWN;
  return (
    <>
      <p role="status">
        {words.devicesFound(plan.lines.length)}
        {plan.faultCount > 0 && (
          <>
            {' · '}
            <strong class="home-fault">{words.faultsFound(plan.faultCount)}</strong>
          </>
        )}
      </p>
      {plan.unknownColumns.length > 0 && (
        <p class="home-fault">{words.unknownColumns(plan.unknownColumns.join(', '))}</p>
      )}
      <table class="home-preview">
        <thead>
          <tr>
            <th scope="col">{words.line}</th>
            <th scope="col">{words.name}</th>
            <th scope="col">{words.room}</th>
            <th scope="col">{words.group}</th>
            <th scope="col">{words.customData}</th>
            <th scope="col">{words.check}</th>
          </tr>
        </thead>
        <tbody>
          {[...faulty, ...inOrder.slice(0, MAX_SHOWN)].map((line) => (
            <PreviewRow key={line.line} line={line} />
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="hint">{words.more(left)}</p>}
    </>
  );
}

function PreviewRow({ line }: { readonly line: PlannedLine }) {
  const words = useWords(IMPORT_WORDS);
  const notes = [
    ...(line.isRepeated ? [words.repeated] : []),
    ...(line.isExisting ? [words.existing] : []),
    ...(line.isRoomNew ? [words.newRoom] : []),
    ...(line.isGroupNew ? [words.newGroup] : []),
    ...(line.isRoomGrouped ? [words.roomGrouped] : []),
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
        {isFaulty && `✗ ${line.faults.map((fault) => words.faults[fault]).join(' ')}`}
        {!isFaulty && (notes.length === 0 ? words.fine : notes.join(' '))}
      </td>
    </tr>
  );
}
