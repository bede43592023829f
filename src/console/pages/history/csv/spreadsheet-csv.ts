import { BYTE_ORDER_MARK, csvLine } from '../../../ui/csv.js';

/**
 * Converts the gateway's CSV (RFC 4180), in whatever pieces it arrives, for a spreadsheet.
 */
export class SpreadsheetCsv extends TransformStream<string, string> {
  constructor(separator: string) {
    let rest = '';
    super({
      start: (controller) => controller.enqueue(BYTE_ORDER_MARK),
      transform(piece, controller) {
        const { records, remainder } = splitRecords(rest + piece);
        rest = remainder;
        for (const record of records) controller.enqueue(csvLine(fieldsOf(record), separator));
      },
    });
  }
}

/** Splits text after each line end that is not inside quotes. */
function splitRecords(text: string): { readonly records: string[]; readonly remainder: string } {
  const records: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    // An escaped quote, which is doubled, turns it off and on again.
    if (character === '"') isQuoted = !isQuoted;
    if (character === '\n' && !isQuoted) {
      records.push(text.slice(start, at + 1));
      start = at + 1;
    }
  }
  return { records, remainder: text.slice(start) };
}

function fieldsOf(record: string): string[] {
  const fields = `,${record.replace(/\r?\n$/, '')}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...fields].map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}
