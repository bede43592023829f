// npm run -s release-notes: prints what CHANGELOG.md says about the version in package.json, for a GitHub release.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m).slice(1);
const notes = sections.find((section) => section.startsWith(`${version},`));
if (notes === undefined) {
  console.error(`CHANGELOG.md has no section ## ${version}, <date>`);
  process.exit(1);
}
console.log(notes.slice(notes.indexOf('\n')).trim());
