import { useEffect } from 'preact/hooks';
import { type AdvisedFault, listFaults } from '../api.js';
import { useConsole } from '../console-parts.js';
import { language } from '../language.js';
import { type Loaded, useLoaded } from '../ui/load.js';

const STATUS_TOPIC = 'gateway/status';

/** The gateway's faults, read immediately and again whenever `gateway/status` reports a change. */
export function useFaults(): Loaded<AdvisedFault[]> {
  const { live } = useConsole();
  const faults = useLoaded(() => listFaults(), [language.value]);
  const { again } = faults;
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
  // While the stream is away, the gateway may be stopping or have just returned.
  const state = live.state.value;
  useEffect(again, [state, again]);
  return faults;
}
