import { useEffect } from 'preact/hooks';
import { listSilentDevices } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { useLoaded } from '../../ui/use-request.js';
import { BOARD_WORDS } from './board-words.js';

/** Its messages tell at once; this finds what was missed. */
const READ_AGAIN_MS = 30_000;
const MAX_NAMED = 6;

interface SilentSensorsProps {
  readonly locationId: string;
}

/** The silent sensors of a home: their alarms might not arrive either. */
export function SilentSensors({ locationId }: SilentSensorsProps) {
  const words = useWords(BOARD_WORDS);
  const { live } = useConsole();
  const loaded = useLoaded(() => listSilentDevices({ locationId }), [locationId]);
  const { data: silent, failure, again } = loaded;
  useEffect(() => {
    const message = ({ topic }: { readonly topic: string }) => {
      const [, home, , , level] = topic.split('/');
      if (home === locationId && level === 'supervision') again();
    };
    return live.listen({ message, missed: again });
  }, [live, locationId, again]);
  useEffect(() => {
    const timer = setInterval(again, READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [again]);
  if (failure !== undefined) return <p class="board-offline">{words.silenceUnknown}</p>;
  if (silent === undefined || silent.length === 0) return null;
  const names = silent
    .slice(0, MAX_NAMED)
    .map(({ device, room }) => (room === null ? device.name : `${device.name} (${room.name})`));
  const left = silent.length - names.length;
  return (
    <p class="board-offline all" role="status">
      <strong>{words.silent(silent.length)}</strong> {names.join(', ')}
      {left > 0 && ` ${words.andMore(left)}`}
    </p>
  );
}
