/** The parts that only a board on a wall has: its header, and a line that counts the alarms that do not fit. */

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { locale, t } from '../language.js';
import { Connection } from '../shell.js';
import { urgencyOf } from './alarm.js';
import { chosenHomeId, openAlarms } from './open-alarms.js';
import type { AlarmsOfRow } from './row.js';
import { nowMs } from './sound.js';

/** Shows at a glance that a wall is alive: the home, the gateway's time, and the connection. */
export function WallHead() {
  const homes = openAlarms.homes.value;
  const homeId = chosenHomeId.value ?? (homes.length === 1 ? homes[0]?.id : undefined);
  const home = homes.find(({ id }) => id === homeId)?.name;
  const format = { hour: '2-digit', minute: '2-digit' } as const;
  return (
    <div class="board-wall-head">
      <strong>{home ?? (homes.length > 1 ? t('All homes', 'Alle Heime') : '')}</strong>
      <time class="board-clock">{new Date(nowMs.value).toLocaleTimeString(locale(), format)}</time>
      <Connection />
    </div>
  );
}

interface BelowLineProps {
  readonly list: RefObject<HTMLOListElement | null>;
  readonly rows: readonly AlarmsOfRow[];
}

/** Counts the alarms that do not fit on the screen, in a line that is always visible. */
export function BelowLine({ list, rows }: BelowLineProps) {
  const line = useRef<HTMLParagraphElement>(null);
  const [visible, setVisible] = useState(0);
  const measure = () => {
    const edge = line.current?.getBoundingClientRect().top ?? innerHeight;
    const drawn = [...(list.current?.children ?? [])];
    setVisible(drawn.filter((row) => row.getBoundingClientRect().bottom <= edge).length);
  };
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    // Elements that come and go above the list move it.
    observer.observe(document.body);
    for (const type of ['scroll', 'resize']) addEventListener(type, measure);
    return () => {
      observer.disconnect();
      for (const type of ['scroll', 'resize']) removeEventListener(type, measure);
    };
  }, []);
  const below = rows.slice(visible).flat();
  const isCut = openAlarms.isCut.value;
  const urgent = below.filter((alarm) => urgencyOf(alarm) === 'urgent');
  const falls = urgent.filter(({ kind }) => kind === 'fall').length;
  const text = `${below.length}${isCut ? '+' : ''}`;
  const parts = [
    t(`+${text} more`, `+${text} weitere`),
    counted(falls, [t('fall', 'Sturz'), t('falls', 'Stürze')]),
    counted(urgent.length - falls, [t('help call', 'Hilferuf'), t('help calls', 'Hilferufe')]),
  ];
  return (
    <p ref={line} class={below.length === 0 && !isCut ? 'board-below nothing' : 'board-below'}>
      {parts.filter((part) => part !== undefined).join(', ')}
    </p>
  );
}

function counted(count: number, [one, many]: readonly [string, string]): string | undefined {
  return count === 0 ? undefined : `${count} ${count === 1 ? one : many}`;
}
