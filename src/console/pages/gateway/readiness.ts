import { HttpError } from '@oazapfts/runtime';
import { useEffect } from 'preact/hooks';
import { getOpenApiDocument, getReadiness } from '../../api/generated.js';
import { recordOf } from '../../api/record.js';
import { useConsole } from '../../console-parts.js';
import { type Loaded, useLoaded } from '../../ui/use-request.js';

const STATUS_TOPIC = 'gateway/status';

/** Whether the gateway does its whole work, and what is wrong. */
export interface Readiness {
  readonly isReady: boolean;
  readonly faults: readonly ShownFault[];
}

export interface ShownFault {
  readonly code: string;
  readonly message: string;
  /** Whether it stays until an administrator acknowledges it. */
  readonly isAcknowledgeable: boolean;
  /** The kind and name of what it is about; undefined for the gateway as a whole. */
  readonly subject: { readonly type: string; readonly name: string } | undefined;
}

/** The gateway's faults, read at once, and again whenever `gateway/status` tells of a change. */
export function useReadiness(): Loaded<Readiness> {
  const { live } = useConsole();
  const readiness = useLoaded(readReadiness, []);
  const { again } = readiness;
  useEffect(
    () =>
      live.listen({
        message: ({ topic }) => {
          if (topic === STATUS_TOPIC) again();
        },
        missed: again,
      }),
    [live, again],
  );
  // While the stream is away the gateway may be stopping, or just be back.
  const state = live.state.value;
  useEffect(again, [state, again]);
  return readiness;
}

/** The version of the gateway; undefined until it is read. */
export function useVersion(): string | undefined {
  const { data } = useLoaded(getOpenApiDocument, []);
  const { version } = recordOf(data?.['info']);
  return typeof version === 'string' ? version : undefined;
}

async function readReadiness(): Promise<Readiness> {
  try {
    const { faults } = await getReadiness();
    return { isReady: true, faults: faults.map(shownFault) };
  } catch (error) {
    const faults = error instanceof HttpError ? faultsOf(error.data) : undefined;
    if (faults === undefined) throw error;
    return { isReady: false, faults };
  }
}

/** The faults of a 503; undefined for any other failure. */
function faultsOf(problem: unknown): readonly ShownFault[] | undefined {
  const { faults } = recordOf(problem);
  return Array.isArray(faults) ? faults.map(shownFault) : undefined;
}

function shownFault(fault: unknown): ShownFault {
  const { message, code, acknowledgeable, subject } = recordOf(fault);
  const { type, id, name } = recordOf(subject);
  const shownName = name === id ? String(name) : `${name} (${id})`;
  return {
    code: String(code),
    message: String(message ?? code),
    isAcknowledgeable: acknowledgeable === true,
    subject: subject === undefined ? undefined : { type: String(type), name: shownName },
  };
}
