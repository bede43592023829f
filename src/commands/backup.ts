import { resolve } from 'node:path';
import type { Command } from './command.js';

/** Makes a backup of the data directory, while the gateway runs or not. */
export const backup: Command = {
  name: 'backup',
  summary: 'makes a backup, while the gateway runs or not',
  help: `usage: care-home-gateway backup FILE [--footage] [--config FILE]

Writes the gateway's own store, the administrator's token, the installation's key and the certificates that the gateway
has made to FILE, a tar.gz with checksums, which must not exist; with --footage also the recordings. It holds every alarm
that was acknowledged before it began. FILE appears once it is complete and was read back. Whoever has it can do
everything: keep it safe. Run it as the user of the gateway.
`,
  options: { footage: { type: 'boolean' } },
  operands: ['FILE'],
  run: async ({ config, version, options, operands: [name = ''] }) => {
    const { makeBackup, sizeText } = await import('../backup/backup.js');
    const file = resolve(name);
    const hasFootage = options['footage'] === true;
    const made = await makeBackup({ config, version, file, hasFootage, nowMs: Date.now() });
    const { entries, bytes } = made;
    const range =
      entries === null
        ? 'without entries of the history'
        : `with entries ${entries.from} to ${entries.to} of the history`;
    process.stdout.write(`wrote and verified ${file}: ${sizeText(bytes)}, ${range}\n`);
    return 0;
  },
};
