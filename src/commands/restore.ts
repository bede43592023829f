import { resolve } from 'node:path';
import type { Command } from './command.js';

/** Restores a backup into an empty data directory. */
export const restore: Command = {
  name: 'restore',
  summary: 'restores a backup into an empty data directory',
  help: `usage: care-home-gateway restore FILE [--dry-run] [--config FILE]

Verifies the backup, and restores it into the data directory of the configuration, which must be empty or missing. What
came after the backup is lost; the gateway says so until an administrator has acknowledged it. With --dry-run it only
verifies. Run it as the user of the gateway.
`,
  options: { 'dry-run': { type: 'boolean' } },
  operands: ['FILE'],
  run: async ({ config, options, operands: [name = ''] }) => {
    const { restoreBackup, sizeText } = await import('../backup/backup.js');
    const isDry = options['dry-run'] === true;
    const manifest = await restoreBackup({ file: resolve(name), config, isDry });
    const { madeAt, version, files, footage } = manifest;
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const what = `the backup of ${madeAt} (version ${version}, ${sizeText(bytes)}, ${footage ? 'with' : 'without'} recordings)`;
    process.stdout.write(
      isDry
        ? `${what} is whole, and would be restored to ${config.dataDir}\n`
        : `restored ${what} to ${config.dataDir}: start the gateway\n`,
    );
    return 0;
  },
};
