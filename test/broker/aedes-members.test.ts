import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** A private member by convention, except those that Node.js streams have for subclasses. */
const PRIVATE_MEMBER = /(?:\.|\[['"`])_(?!(?:read|write|writev|final|destroy)\b)\w+/;
/** Would make the compiler accept a private member. */
const WIDENED_TYPES = /declare module ['"]aedes['"]/;

async function sourcesOf(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
}

it('no private member of Aedes is touched', async () => {
  const sources = [...(await sourcesOf('src/broker')), ...(await sourcesOf('src/composition'))];
  const users: string[] = [];
  for (const file of sources) {
    const text = await readFile(file, 'utf8');
    expect(PRIVATE_MEMBER.exec(text)?.[0], file).toBeUndefined();
    expect(WIDENED_TYPES.exec(text)?.[0], file).toBeUndefined();
    if (/from ['"]aedes['"]/.test(text)) users.push(file);
  }
  expect(users.sort()).toEqual(['src/broker/aedes-broker.ts', 'src/broker/mqtt-broker.ts']);
});
