import { type AdvisedFault, acknowledgeFault, getOpenApiDocument } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { useFaults } from '../../../live/use-faults.js';
import { recordOf } from '../../../request.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useChange, useLoaded } from '../../../ui/use-request.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { CodeText } from './code-text.js';
import { OVERVIEW_WORDS } from './overview-words.js';
import { RejectedList } from './rejected-list.js';
import { UnknownDevice } from './unknown-device.js';

/** Whether the gateway is ready, and what to do about its faults. */
export function OverviewPart() {
  const words = useWords(OVERVIEW_WORDS);
  const { data: faults, failure, again } = useFaults();
  const isReady = faults?.every(({ stops }) => !stops);
  const version = useVersion();
  return (
    <>
      <FailureText failure={failure} onRetry={again} />
      {faults === undefined && failure === undefined && <Loading />}
      {faults !== undefined && failure === undefined && (
        <>
          <p class={isReady ? 'gateway-ready' : 'gateway-unready'} role="status">
            {isReady ? words.ready : words.notReady}
          </p>
          <p>
            {words.version} {version ?? '…'}
          </p>
          <h2>{words.faults}</h2>
          <Faults faults={faults} />
        </>
      )}
      <RejectedList />
    </>
  );
}

/** The version of the gateway; undefined until read. */
function useVersion(): string | undefined {
  const { data } = useLoaded(getOpenApiDocument, []);
  const { version } = recordOf(data?.['info']);
  return typeof version === 'string' ? version : undefined;
}

function Loading() {
  return <p role="status">{useWords(GATEWAY_WORDS).loading}</p>;
}

function Faults({ faults }: { readonly faults: readonly AdvisedFault[] }) {
  const words = useWords(OVERVIEW_WORDS);
  if (faults.length === 0) return <p class="gateway-good">{words.noFaults}</p>;
  return (
    <ul class="gateway-faults">
      {faults.map(({ code, message, advice, acknowledgeable, subject }) => (
        <li key={`${message} ${subject?.id}`}>
          <strong>{message}</strong>
          {subject && (
            <p>
              {words.subjects[subject.type]} {nameOf(subject)}
              {subject.via && ` ${words.through(subject.via.name)}`}
            </p>
          )}
          <p>
            <span class="hint">{words.whatToDo}</span> <CodeText text={advice} />
          </p>
          {code === 'unknown-device' && subject && <UnknownDevice id={subject.id} />}
          {acknowledgeable && <AcknowledgeButton code={code} />}
        </li>
      ))}
    </ul>
  );
}

function nameOf({ id, name }: NonNullable<AdvisedFault['subject']>): string {
  return name === id ? name : `${name} (${id})`;
}

/** The list follows `gateway/status`, which reports the end of the fault. */
function AcknowledgeButton({ code }: { readonly code: string }) {
  const words = useWords(OVERVIEW_WORDS);
  const change = useChange();
  return (
    <>
      <FailureText failure={change.failure} />
      <button
        type="button"
        aria-disabled={change.isPending}
        onClick={() =>
          change.send(
            () => acknowledgeFault({ code }),
            () => undefined,
          )
        }
      >
        {words.acknowledge}
      </button>
    </>
  );
}
