import { styleText } from 'node:util';

/** What the screen can do. */
export interface Look {
  readonly colour: boolean;
  /** Columns; undefined where lines may be of any length. */
  readonly width: number | undefined;
}

/** A colour, a weight, or several of them, by Node's names. */
export type Style = Parameters<typeof styleText>[0];

/** What stands in one column of a line. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

const GAP = 2;

/** The text in its style, where there is colour. */
export function paint(look: Look, style: Style | undefined, text: string): string {
  if (!look.colour || style === undefined || text.trim() === '') return text;
  // The screen has been asked already; Node's own check looks at the standard output only.
  return styleText(style, text, { validateStream: false });
}

/**
 * One line of aligned columns, cut where the screen ends: it never wraps.
 *
 * @param widths of the columns; what has none takes what is left
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
