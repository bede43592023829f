import { styleText } from 'node:util';

const NAMES = ['time', 'event', 'kind', 'device', '   took', 'customData', 'topic'];
const WIDTHS = [8, 11, 10, 15, 7, 45, 0];
/** On a narrower screen the custom data is more useful than the time. */
const MIN_WIDTH_WITH_TIME = 100;
const USUAL_WIDTH = 80;
const COLOURS = { fall: 'red', helpCall: 'red', noise: 'cyan', inactivity: 'cyan' };
const UUID = /\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** The names of the columns. */
export function columnNames() {
  return row('underline', NAMES);
}

/** An alarm as published (→) or, if it has custom data, as forwarded (←), with the time it took. */
export function messageLine({ kind, device, topic, customData, tookMs }) {
  const time = new Date().toTimeString().slice(0, 8);
  const to = topic.replace(UUID, '$1…');
  if (customData === undefined) return row('dim', [time, '→ published', kind, device, '', '', to]);
  const digits = tookMs < 10 ? 1 : 0;
  const took = tookMs < 1_000 ? `${tookMs.toFixed(digits)} ms` : `${(tookMs / 1_000).toFixed(1)} s`;
  const cells = [time, '← forwarded', kind, device, took.padStart(7), JSON.stringify(customData)];
  return row(COLOURS[kind] ?? 'yellow', [...cells, to]);
}

/** Aligned cells, cut at the screen's current width so that they never wrap. */
function row(style, cells) {
  const { isTTY, columns } = process.stdout;
  // A terminal that does not know its width, as on a serial line, reports 0.
  const width = isTTY ? columns || USUAL_WIDTH : Number.POSITIVE_INFINITY;
  const aligned = cells.map((text, index) => text.padEnd(WIDTHS[index]));
  const line = aligned
    .slice(width < MIN_WIDTH_WITH_TIME ? 1 : 0)
    .join('  ')
    .trimEnd();
  return `${styleText(style, line.length <= width ? line : `${line.slice(0, width - 1)}…`)}\n`;
}
