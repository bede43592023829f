import { HttpError } from '@oazapfts/runtime';
import { useEffect } from 'preact/hooks';
import {
  type AdvisedFault,
  getOpenApiDocument,
  getReadiness,
  listFaults,
} from '../../../api/generated.js';
import { recordOf } from '../../../api/record.js';
import { useConsole } from '../../../console-parts.js';
import { type Loaded, useLoaded } from '../../../ui/use-request.js';

const STATUS_TOPIC = 'gateway/status';

/** Whether the gateway does its whole work, and what is wrong. */
export interface Readiness {
  readonly isReady: boolean;
  readonly faults: readonly AdvisedFault[];
}

/** The gateway's faults, read at once, and again whenever `gateway/status` tells of a change. */
export function useReadiness(): Loaded<Readiness> {
  const { live, language } = useConsole();
  const readiness = useLoaded(readReadiness, [language.current.value]);
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
  const [isReady, faults] = await Promise.all([readIsReady(), listFaults()]);
  return { isReady, faults };
}

async function readIsReady(): Promise<boolean> {
  try {
    await getReadiness();
    return true;
  } catch (error) {
    if (error instanceof HttpError && error.status === 503) return false;
    throw error;
  }
}
