/** Keeps the header and the records of CSV (RFC 4180) that have a value in a column, whatever pieces it comes in. */
export class CsvRecordFilter extends TransformStream<string, string> {
  constructor(column: string, value: string) {
    let columnIndex: number | undefined;
    let rest = '';
    super({
      transform(piece, controller) {
        const { records, remainder } = splitRecords(rest + piece);
        rest = remainder;
        for (const record of records) {
          const fields = fieldsOf(record);
          if (columnIndex === undefined) columnIndex = fields.indexOf(column);
          else if (fields[columnIndex] !== value) continue;
          controller.enqueue(record);
        }
      },
    });
  }
}

/** Splits text behind each line end that is not inside of quotes. */
function splitRecords(text: string): { readonly records: string[]; readonly remainder: string } {
  const records: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    // Two quotes for one turn it off and on again.
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
