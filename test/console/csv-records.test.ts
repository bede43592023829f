import { expect, it } from 'vitest';
import { CsvRecordFilter } from '../../src/console/pages/history/csv-records.js';

const HEADER = 'id,deviceName,roomId,data\r\n';
const RECORDS = [
  '1,"Bett ""am Fenster"", 1",r1,"{""note"":""a,\r\nb""}"\r\n',
  '2,Bett 2,r2,\r\n',
  '3,r1,,\r\n',
  '4,,r1,\r\n',
];

async function filtered(pieces: readonly string[]): Promise<string> {
  const sent = new ReadableStream<string>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const reader = sent.pipeThrough(new CsvRecordFilter('roomId', 'r1')).getReader();
  for (let text = ''; ; ) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
}

it('keeps the header and the records with the value, unchanged, in whatever pieces they come', async () => {
  const text = HEADER + RECORDS.join('');
  const expected = HEADER + RECORDS[0] + RECORDS[3];
  expect(await filtered([text])).toBe(expected);
  expect(await filtered([...text])).toBe(expected);
  expect(await filtered([text.slice(0, 50), text.slice(50, 71), text.slice(71)])).toBe(expected);
});
