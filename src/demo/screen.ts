import type { AlarmKind } from '../domain/alarms.js';
import type { Arrival, Totals } from './ledger.js';
import { type Cell, type Look, paint, type Style, tableLine } from './table.js';

/** The texts of the demo: pure functions from events to text. */

/** The facts of the heading. */
export interface HeadingFacts {
  readonly locationName: string;
  readonly deviceCount: number;
  readonly mqttPort: number;
  readonly tokenId: string;
  readonly token: string;
  readonly filter: string;
  /** How many alarms there will be; undefined for no end. */
  readonly alarms: number | undefined;
}

/** One message, as published by a sensor or as forwarded to the nurse-call system. */
export interface MessageRow {
  readonly time: Date;
  readonly deviceName: string;
  readonly topic: string;
  /** Only once forwarded. */
  readonly arrival?: Arrival;
  /** JSON text; only once forwarded. */
  readonly customData?: string;
}

const COLUMNS = [
  { name: 'time', width: 8 },
  { name: 'event', width: 11 },
  { name: 'kind', width: 10 },
  { name: 'device', width: 15 },
  { name: '   took', width: 7 },
  { name: 'customData', width: 45 },
  { name: 'topic', width: 0 },
];
/** On a narrower screen the custom data is worth more than the time. */
const MIN_WIDTH_WITH_TIME = 100;

const KIND_STYLES: Readonly<Record<AlarmKind, Style>> = {
  fall: ['red', 'bold'],
  helpCall: ['red', 'bold'],
  outOfBed: 'yellow',
  outOfRoom: 'yellow',
  outOfSeat: 'yellow',
  wandering: 'yellow',
  noise: 'cyan',
  inactivity: 'cyan',
};
const UUID = /\b([0-9a-f]{4})[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** Whether to colour: on request, else in a terminal with colours, unless forbidden. */
export function wantsColour(
  environment: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = environment;
  if (force !== undefined) return force !== '0' && force !== 'false';
  return isTerminal && !no && terminal !== 'dumb';
}

/** An explanation of the screen in three lines, and how to connect. */
export function heading(look: Look, facts: HeadingFacts): string {
  const { locationName, deviceCount, mqttPort, tokenId, token, filter, alarms } = facts;
  const ends = alarms === undefined ? 'Ctrl-C ends it.' : `Ends after ${counted(alarms, 'alarm')}.`;
  const command = `mosquitto_sub -h 127.0.0.1 -p ${mqttPort} -q 1 -v \\
    -u ${tokenId} \\
    -P ${token} \\
    -t '${filter}'`;
  return `
The real gateway with a made-up care home, ${paint(look, 'bold', locationName)}. ${ends}
${paint(look, 'bold', '→ published')}  one of its ${deviceCount} sensors sends an alarm to the gateway (MQTT, QoS 1)
${paint(look, 'bold', '← forwarded')}  it is stored, and has reached the nurse-call system with customData

Be a second nurse-call system, in another terminal:
  ${paint(look, 'green', command)}

${columnNames(look)}`;
}

/** An alarm on its way to the gateway. */
export function publishedLine(look: Look, kind: AlarmKind, message: MessageRow): string {
  return line(look, cells('→ published', undefined, kind, KIND_STYLES[kind], message));
}

/** An alarm that has reached the nurse-call system. */
export function forwardedLine(look: Look, kind: AlarmKind, message: MessageRow): string {
  return line(look, cells('← forwarded', 'green', kind, KIND_STYLES[kind], message));
}

/** A reading, in either direction. */
export function telemetryLine(look: Look, what: string, message: MessageRow): string {
  const direction = message.arrival === undefined ? '→ telemetry' : '← telemetry';
  const plain = cells(direction, undefined, what, undefined, message);
  return line(
    look,
    plain.map(({ text }) => ({ text, style: 'dim' })),
  );
}

/** An event between the alarms. */
export function announcement(look: Look, text: string): string {
  return `\n${paint(look, ['magenta', 'bold'], `── ${text}`)}\n\n`;
}

/** The summary at the end. */
export function summary(look: Look, totals: Totals): string {
  const { published, forwarded, lost, repeated, waited, medianMs, maxMs } = totals;
  const counts = [
    `${published} published`,
    `${forwarded} forwarded`,
    paint(look, lost === 0 ? ['green', 'bold'] : ['red', 'bold'], `${lost} lost`),
    ...(repeated === 0 ? [] : [`${repeated} delivered again`]),
  ];
  const lines = ['', `Alarms:   ${counts.join(', ')}`];
  if (medianMs !== undefined && maxMs !== undefined) {
    const but = waited === 0 ? '' : ` (but for ${waited} that waited for the nurse-call system)`;
    lines.push(`Latency:  median ${duration(medianMs)}, maximum ${duration(maxMs)}${but}`);
  }
  return `${lines.join('\n')}\n`;
}

/** A duration in milliseconds, or, if long, in seconds. */
export function duration(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}

/** `1 alarm`, `2 alarms`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function cells(
  event: string,
  eventStyle: Style | undefined,
  what: string,
  whatStyle: Style | undefined,
  { time, deviceName, topic, arrival, customData }: MessageRow,
): Cell[] {
  const took = arrival === undefined ? '' : duration(arrival.tookMs).padStart(7);
  return [
    { text: time.toTimeString().slice(0, 8), style: 'dim' },
    { text: event, style: eventStyle },
    { text: what, style: whatStyle },
    { text: deviceName },
    { text: took, style: arrival?.waited ? 'magenta' : 'green' },
    { text: customData ?? '' },
    { text: topic.replace(UUID, '$1…'), style: 'dim' },
  ];
}

function columnNames(look: Look): string {
  return line(
    look,
    COLUMNS.map(({ name }) => ({ text: name, style: 'underline' })),
  );
}

function line(look: Look, row: readonly Cell[]): string {
  const isNarrow = look.width !== undefined && look.width < MIN_WIDTH_WITH_TIME;
  const first = isNarrow ? 1 : 0;
  const widths = COLUMNS.map(({ width }) => width);
  return tableLine(look, widths.slice(first), row.slice(first));
}
