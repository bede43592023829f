import { styleText } from 'node:util';

/** Columns and their widths; the last one takes what is left of the screen. */
const COLUMNS = [
  ['time', 8],
  ['event', 11],
  ['kind', 10],
  ['device', 15],
  ['   took', 7],
  ['customData', 45],
  ['topic', 0],
];
/** On a narrower screen the custom data is worth more than the time. */
const MIN_WIDTH_WITH_TIME = 100;
const USUAL_WIDTH = 80;
const URGENT = ['fall', 'helpCall'];
const QUIET = ['noise', 'inactivity'];
const UUID = /\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = process.env;
const inColour =
  force === undefined
    ? process.stdout.isTTY && !no && terminal !== 'dumb'
    : force !== '0' && force !== 'false';

/** Styles the text, where colours are wanted. */
export function paint(style, text) {
  if (!inColour || style === undefined || text.trim() === '') return text;
  // Node's own check considers only the standard output, not what was asked for.
  return styleText(style, text, { validateStream: false });
}

/** The names of the columns. */
export function columnNames() {
  return row(COLUMNS.map(([name]) => ['underline', name]));
}

/**
 * One message: an alarm or a reading, as published or as forwarded.
 *
 * @param {{ direction: '→' | '←', isAlarm: boolean, what: string, device: string, topic: string,
 *   tookMs?: number, waited?: boolean, customData?: object }} message
 */
export function messageLine(message) {
  const { direction, isAlarm, what, device, topic, tookMs, waited, customData } = message;
  const verb = direction === '→' ? 'published' : 'forwarded';
  const urgency = URGENT.includes(what)
    ? ['red', 'bold']
    : QUIET.includes(what)
      ? 'cyan'
      : 'yellow';
  const cells = [
    ['dim', new Date().toTimeString().slice(0, 8)],
    [direction === '→' ? undefined : 'green', `${direction} ${isAlarm ? verb : 'telemetry'}`],
    [urgency, what],
    [undefined, device],
    [waited ? 'magenta' : 'green', tookMs === undefined ? '' : duration(tookMs).padStart(7)],
    [undefined, customData === undefined ? '' : JSON.stringify(customData)],
    ['dim', topic.replace(UUID, '$1…')],
  ];
  return row(isAlarm ? cells : cells.map(([, text]) => ['dim', text]));
}

/** An event between the alarms. */
export function announcement(text) {
  return `\n${paint(['magenta', 'bold'], `── ${text}`)}\n\n`;
}

/** A duration in milliseconds, or, if long, in seconds. */
export function duration(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

/** `1 alarm`, `2 alarms`. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** One line of aligned cells, cut at the screen's width, as it is now, so that it never wraps. */
function row(cells) {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its width, as over a serial line, says 0.
  let room = isTTY ? columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
  let line = '';
  let gap = 0;
  for (const [index, [style, text]] of cells.entries()) {
    if (index === 0 && room < MIN_WIDTH_WITH_TIME) continue;
    const [, width] = COLUMNS[index];
    room -= gap;
    const shown = text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`;
    if (room <= 0 || text === '') {
      gap += width + 2;
      continue;
    }
    line += ' '.repeat(gap) + paint(style, shown);
    room -= shown.length;
    gap = Math.max(0, width - shown.length) + 2;
  }
  return `${line}\n`;
}
