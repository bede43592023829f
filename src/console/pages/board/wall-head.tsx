import { useEffect, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../console-parts.js';
import { Connection } from '../../header.js';
import { LOCALES } from '../../words/language.js';
import { BOARD_WORDS } from './board-words.js';
import type { useBoard } from './use-board.js';

const TICK_MS = 1_000;

interface WallHeadProps {
  readonly board: ReturnType<typeof useBoard>;
}

/** By what a glance at a wall tells that it is alive: the home, the time, and the connection. */
export function WallHead({ board }: WallHeadProps) {
  const words = useWords(BOARD_WORDS);
  const { locations } = board.feed.state.value;
  const homeId = board.homeId.value ?? (locations.length === 1 ? locations[0]?.id : undefined);
  const home = locations.find(({ id }) => id === homeId)?.name;
  return (
    <div class="board-wall-head">
      <strong>{home ?? (locations.length > 1 ? words.allHomes : '')}</strong>
      <Clock />
      <Connection />
    </div>
  );
}

/** The gateway's time, as alarms are dated by it. */
function Clock() {
  const { live, language } = useConsole();
  const [nowMs, setNowMs] = useState(live.clock.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(live.clock.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [live]);
  const locale = LOCALES[language.current.value];
  return (
    <time class="board-clock">
      {new Date(nowMs).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })}
    </time>
  );
}
