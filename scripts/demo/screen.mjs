import { styleText } from 'node:util';

/** Widths of the columns: time, event, kind, device, how long it took, custom data, topic. */
const WIDTHS = [8, 11, 10, 15, 7, 45, 0];
const NAMES = ['time', 'event', 'kind', 'device', '   took', 'customData', 'topic'];
/** On a narrower screen the custom data is worth more than the time. */
const MIN_WIDTH_WITH_TIME = 100;
const USUAL_WIDTH = 80;
const COLOURS = { fall: 'red', helpCall: 'red', noise: 'cyan', inactivity: 'cyan' };
const UUID = /\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = process.env;
const inColour =
  force === undefined
    ? process.stdout.isTTY && !no && terminal !== 'dumb'
    : force !== '0' && force !== 'false';

/** Styles the text, where colours are wanted. */
export function paint(style, text) {
  // Node's own check considers only the standard output, not what was asked for.
  return inColour ? styleText(style, text, { validateStream: false }) : text;
}

/** The names of the columns. */
export function columnNames() {
  return `${paint('underline', row(NAMES))}\n`;
}

/** An alarm as published (→), or as forwarded (←) with how long it took. */
export function messageLine({ direction, kind, device, topic, tookMs, customData }) {
  const isForwarded = direction === '←';
  const line = row([
    new Date().toTimeString().slice(0, 8),
    `${direction} ${isForwarded ? 'forwarded' : 'published'}`,
    kind,
    device,
    isForwarded ? duration(tookMs).padStart(7) : '',
    isForwarded ? JSON.stringify(customData) : '',
    topic.replace(UUID, '$1…'),
  ]);
  return `${isForwarded ? paint(COLOURS[kind] ?? 'yellow', line) : paint('dim', line)}\n`;
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
export function counted(count) {
  return `${count} alarm${count === 1 ? '' : 's'}`;
}

/** Aligned cells, cut at the screen's width, as it is now, so that they never wrap. */
function row(cells) {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its width, as over a serial line, says 0.
  const width = isTTY ? columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
  const aligned = cells.map((text, index) => text.padEnd(WIDTHS[index]));
  const line = aligned
    .slice(width < MIN_WIDTH_WITH_TIME ? 1 : 0)
    .join('  ')
    .trimEnd();
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
