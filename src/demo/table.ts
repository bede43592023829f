import { styleText } from 'node:util';

/** The abilities of the screen. */
export interface Look {
  readonly colour: boolean;
  /** The number of columns; undefined for lines of any length. */
  readonly width: number | undefined;
}

/** A colour, a weight, or several of them, by Node's names. */
export type Style = Parameters<typeof styleText>[0];

/** The content of one column of a line. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

const GAP = 2;

/** Styles the text, on a screen with colours. */
export function paint(look: Look, style: Style | undefined, text: string): string {
  if (!look.colour || style === undefined || text.trim() === '') return text;
  // `Look` has decided already; Node's own check considers only the standard output.
  return styleText(style, text, { validateStream: false });
}

/**
 * Renders one line of aligned columns, cut at the screen's width so that it never wraps.
 *
 * @param widths the columns' widths; a column without one takes the remaining space
 */
export function tableLine(look: Look, widths: readonly number[], cells: readonly Cell[]): string {
  let room = look.width ?? Number.POSITIVE_INFINITY;
  let line = '';
  let gap = 0;
  for (const [index, { text, style }] of cells.entries()) {
    room -= gap;
    if (room <= 0 || text === '') {
      gap += (widths[index] ?? 0) + GAP;
      continue;
    }
    const shown = text.length <= room ? text : `${text.slice(0, room - 1)}…`;
    line += ' '.repeat(gap) + paint(look, style, shown);
    room -= shown.length;
    gap = Math.max(0, (widths[index] ?? 0) - shown.length) + GAP;
  }
  return `${line}\n`;
}
