import { expect, it } from 'vitest';
import { decodeCsv, parseDeviceCsv } from '../../src/console/pages/home/import/device-csv.js';
import { csvText } from '../../src/console/ui/csv.js';

function devices(text: string) {
  return parseDeviceCsv(text).lines.map(({ name, room }) => [name, room]);
}

it.each([
  ['commas, without a header', 'Bed 1,Room 7\nBed 2,Room 8'],
  ['semicolons, with a header', 'name;room\nBed 1;Room 7\nBed 2;Room 8\n'],
  [
    'a German header in the other order, and a byte order mark',
    '\uFEFFZimmer;Gerät\r\nRoom 7;Bed 1\r\nRoom 8;Bed 2\r\n',
  ],
  ['further columns behind a header', 'room,id,name\nRoom 7,x,Bed 1\nRoom 8,y,Bed 2'],
  ['empty lines and spaces', '\n Bed 1 ; Room 7 \n;;\n\nBed 2;Room 8;'],
])('reads names and rooms with %s', (_, text) => {
  expect(devices(text)).toEqual([
    ['Bed 1', 'Room 7'],
    ['Bed 2', 'Room 8'],
  ]);
});

it('reads quoted cells with separators, quotation marks and line breaks', () => {
  expect(devices('"Bed ""A"", left";"Room; 7"\nBed 2;')).toEqual([
    ['Bed "A", left', 'Room; 7'],
    ['Bed 2', ''],
  ]);
});

it('reports what is wrong with each line, by its number in the file', () => {
  const text = `name,room\n,Room 7\n${'x'.repeat(121)},Room 7\nA,B,C,D\nA,"b\nc"\nOK,Room 7\n"open`;
  const faults = parseDeviceCsv(text).lines.map(({ line, faults }) => [line, ...faults]);
  expect(faults).toEqual([
    [2, 'name-missing'],
    [3, 'name-too-long'],
    [4, 'too-many-columns'],
    [5, 'room-invalid'],
    [7],
    [8, 'unclosed-quote'],
  ]);
});

it('reads groups and custom data by column, checks them, and names the columns that it ignores', () => {
  const text = [
    'name;room;group;customData;serial',
    'Bed 1;Room 7;Upper floor;"{""bed"":1}";x',
    'Bed 2;;Upper floor;;',
    'Bed 3;Room 7;;[1];',
    `Bed 4;Room 7;;"{""text"":""${'x'.repeat(1_024)}""}";`,
  ].join('\n');
  const { lines, unknownColumns } = parseDeviceCsv(text);
  expect(unknownColumns).toEqual(['serial']);
  expect(lines[0]).toMatchObject({ group: 'Upper floor', customData: '{"bed":1}', faults: [] });
  expect(lines.slice(1).map(({ faults }) => faults)).toEqual([
    ['group-without-room'],
    ['custom-data-invalid'],
    ['custom-data-too-large'],
  ]);
});

it('marks a line that repeats an earlier one', () => {
  const marks = parseDeviceCsv('A,1\nA,2\nA,1').lines.map(({ isRepeated }) => isRepeated);
  expect(marks).toEqual([false, false, true]);
});

it('counts 120 characters as characters, whatever their size', () => {
  expect(parseDeviceCsv('😀'.repeat(120)).lines[0]?.faults).toEqual([]);
});

it('writes an apostrophe before cells that a spreadsheet would run as formulas', () => {
  const rows = [
    ['=1+1', '+1', '-1', '@x'],
    ['a;b', 'say "x"', 'plain', ''],
  ];
  expect(csvText(rows, ';')).toBe(
    `\uFEFF"'=1+1";"'+1";"'-1";"'@x"\r\n"a;b";"say ""x""";plain;\r\n`,
  );
});

it('reads a file that Excel saved in Windows-1252', () => {
  expect(decodeCsv(new Uint8Array([0x54, 0xfc, 0x72]))).toBe('Tür');
  expect(decodeCsv(new TextEncoder().encode('Tür'))).toBe('Tür');
});
