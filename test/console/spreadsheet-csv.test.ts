import { expect, it } from 'vitest';
import { SpreadsheetCsv } from '../../src/console/pages/history/csv/spreadsheet-csv.js';

const HEADER = 'id,deviceName,roomId,data\r\n';
const RECORDS = [
  '1,"Bett ""am Fenster"", 1",r1,"{""note"":""a,\r\nb""}"\r\n',
  '2,Bett 2,r2,\r\n',
  '3,r1,,\r\n',
  '4,,r1,\r\n',
];

async function written(pieces: readonly string[], separator: string): Promise<string> {
  const sent = new ReadableStream<string>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const reader = sent.pipeThrough(new SpreadsheetCsv(separator)).getReader();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
}

it('keeps the header and the records unchanged after a byte order mark, in whatever pieces they arrive', async () => {
  const text = HEADER + RECORDS.join('');
  for (const pieces of [
    [text],
    [...text],
    [text.slice(0, 50), text.slice(50, 71), text.slice(71)],
  ]) {
    expect(await written(pieces, ',')).toBe(`\uFEFF${text}`);
  }
});

it('uses the separators of a German spreadsheet, and has nothing run as a formula', async () => {
  const text = 'id,roomId,note\r\n1,r1,=1+1\r\n4,r1,＝1+1\r\n2,r1,"a;b, c"\r\n3,r1,"a, b"\r\n';
  expect(await written([text], ';')).toBe(
    `\uFEFFid;roomId;note\r\n1;r1;"'=1+1"\r\n4;r1;"'＝1+1"\r\n2;r1;"a;b, c"\r\n3;r1;a, b\r\n`,
  );
});
