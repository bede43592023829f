import { GATEWAY } from './contestants/gateway.js';
import type { Metric } from './measure.js';
import type { MeasureResults, Results, Row } from './results.js';

const WIDTH = 960;
const MARGIN = 24;
const COLUMNS = 2;
const GUTTER = 40;
const PANEL_WIDTH = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GUTTER) / COLUMNS;
const LABEL_WIDTH = 150;
const FIGURE_WIDTH = 80;
const BARS_WIDTH = PANEL_WIDTH - LABEL_WIDTH - FIGURE_WIDTH;
const [HEAD_HEIGHT, BAR_PITCH, BAR_HEIGHT, PANEL_GAP] = [40, 22, 14, 22];

/** Its own background and two sets of colours keep a chart readable wherever it is shown. */
const STYLE = `
    text { font: 12px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600 }
    .case { fill: #59636e }
    .background { fill: #ffffff }
    .own { fill: #0969da }
    .other { fill: #afb8c1 }
    .spread { stroke: #1f2328; stroke-width: 1 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .case { fill: #9198a1 }
      .background { fill: #0d1117 }
      .own { fill: #4493f8 }
      .other { fill: #656c76 }
      .spread { stroke: #e6edf3 }
    }
`;

/** A case of a measure with a bar for each contestant, or the other way round. */
interface Panel {
  readonly title: string;
  readonly about: string;
  readonly metric: Metric;
  readonly rows: readonly Row[];
  /** The text before a row's bar. */
  readonly label: (row: Row) => string;
}

/** Draws the first metric of each measure as an SVG bar chart: medians, with their spread as a line. */
export function chart(results: Results): string {
  const panels = [...results.values()].flatMap(panelsOf);
  const columns = Array.from({ length: COLUMNS }, () => MARGIN);
  const drawn = panels.map((panel) => {
    const column = columns.indexOf(Math.min(...columns));
    const top = columns[column] ?? MARGIN;
    columns[column] = top + heightOf(panel) + PANEL_GAP;
    return draw(panel, MARGIN + column * (PANEL_WIDTH + GUTTER), top);
  });
  const height = Math.max(...columns);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    '  <title>What was measured, case by case</title>',
    `  <style>${STYLE}  </style>`,
    `  <rect class="background" width="${WIDTH}" height="${height}"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function panelsOf({ measure, rows }: MeasureResults): Panel[] {
  const [metric] = measure.metrics;
  if (metric === undefined) return [];
  const measured = rows.filter((row) => row.figure(metric) !== undefined);
  const cases = new Set(measured.map((row) => row.case));
  const contestants = new Set(measured.map(({ contestant }) => contestant));
  const shared = { title: measure.title, metric };
  // A single contestant is compared with itself, case by case.
  if (contestants.size === 1) {
    const about = [...contestants].join();
    return [{ ...shared, about, rows: measured, label: (row) => row.case }];
  }
  return [...cases].map((about) => ({
    ...shared,
    about,
    rows: measured.filter((row) => row.case === about),
    label: ({ contestant }) => contestant,
  }));
}

function heightOf({ rows }: Panel): number {
  return HEAD_HEIGHT + rows.length * BAR_PITCH;
}

function draw(panel: Panel, left: number, top: number): string {
  const { title, about, metric, rows, label } = panel;
  const max = Math.max(...rows.map((row) => row.figure(metric)?.max ?? 0));
  const better = `${metric.title}, ${metric.better} is better`;
  return [
    `  <g transform="translate(${left} ${top})">`,
    text(0, 12, title, 'title'),
    text(0, 29, `${about}: ${better}`, 'case'),
    ...rows.map((row, index) => {
      const y = HEAD_HEIGHT + index * BAR_PITCH;
      return [text(0, y + 11, label(row)), bar(row, metric, max, y)].join('\n');
    }),
    '  </g>',
  ].join('\n');
}

function bar(row: Row, metric: Metric, max: number, top: number): string {
  const { median = 0, min = 0, max: highest = 0, rounds = [] } = row.figure(metric) ?? {};
  const lengthOf = (value: number) => Math.max(1, (BARS_WIDTH * value) / max);
  const middle = top + BAR_HEIGHT / 2;
  const [from, to] = [min, highest].map((value) => (LABEL_WIDTH + lengthOf(value)).toFixed(1));
  const spread = `    <path class="spread" d="M${from} ${middle}H${to}"/>`;
  const kind = row.contestant === GATEWAY.name ? 'own' : 'other';
  const size = `y="${top}" width="${lengthOf(median).toFixed(1)}" height="${BAR_HEIGHT}"`;
  return [
    `    <rect class="${kind}" x="${LABEL_WIDTH}" ${size}/>`,
    ...(rounds.length > 1 ? [spread] : []),
    text(LABEL_WIDTH + lengthOf(highest) + 6, top + 11, metric.show(median)),
  ].join('\n');
}

function text(x: number, y: number, content: string, kind?: string): string {
  const named = kind === undefined ? '' : ` class="${kind}"`;
  return `    <text${named} x="${x.toFixed(1)}" y="${y}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
