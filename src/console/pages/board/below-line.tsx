import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../../language.js';
import { urgencyOf } from './alarm-order.js';
import type { OpenAlarm } from './open-alarm.js';

interface BelowLineProps {
  readonly list: RefObject<HTMLOListElement | null>;
  readonly shown: readonly OpenAlarm[];
  /** How many more are known to be open. */
  readonly rest: number;
  /** Whether there are more than these. */
  readonly isCut: boolean;
}

/** Counts the alarms that do not fit on a wall screen, in a line that is always visible. */
export function BelowLine({ list, shown, rest, isCut }: BelowLineProps) {
  const line = useRef<HTMLParagraphElement>(null);
  const [visible, setVisible] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      const edge = line.current?.getBoundingClientRect().top ?? innerHeight;
      const rows = [...(list.current?.children ?? [])];
      setVisible(rows.filter((row) => row.getBoundingClientRect().bottom <= edge).length);
    };
    measure();
    const observer = new ResizeObserver(measure);
    // Elements that come and go above the list move it.
    observer.observe(document.body);
    for (const type of ['scroll', 'resize']) addEventListener(type, measure);
    return () => {
      observer.disconnect();
      for (const type of ['scroll', 'resize']) removeEventListener(type, measure);
    };
  });
  const below = shown.slice(visible);
  const raised = below.filter((alarm) => urgencyOf(alarm) === 'urgent');
  const falls = raised.filter(({ kind }) => kind === 'fall').length;
  const helpCalls = raised.length - falls;
  const urgent = [
    ...(falls > 0
      ? [falls === 1 ? t('1 fall', '1 Sturz') : t(`${falls} falls`, `${falls} Stürze`)]
      : []),
    ...(helpCalls > 0
      ? [
          helpCalls === 1
            ? t('1 help call', '1 Hilferuf')
            : t(`${helpCalls} help calls`, `${helpCalls} Hilferufe`),
        ]
      : []),
  ];
  const count = below.length + rest;
  const text = `${count}${isCut ? '+' : ''}`;
  return (
    <p ref={line} class={count === 0 && !isCut ? 'board-below nothing' : 'board-below'}>
      {[t(`+${text} more`, `+${text} weitere`), ...urgent].join(', ')}
    </p>
  );
}
