import { join } from 'node:path';
import { newSecret } from '../domain/credentials.js';
import { ADMIN_TOKEN_FILE, createDataDirectory, writeDurably } from '../files.js';
import type { Command } from './command.js';

/** Replaces the first administrator's token, as after somebody has left who knew it. */
export const adminToken: Command = {
  name: 'admin-token',
  summary: "replaces the first administrator's token",
  help: `usage: care-home-gateway admin-token --new [--config FILE]

Writes a new token for the first administrator to admin.token in the data directory. A running gateway takes it within
two seconds; the old one then ends, with its connections. Run it as the user of the gateway.
`,
  options: { new: { type: 'boolean' } },
  run: async ({ config, options }) => {
    if (options['new'] !== true) {
      process.stderr.write('say --new: the old token ends\n');
      return 2;
    }
    if (config.adminToken !== undefined) {
      process.stderr.write('the token is in the configuration: change adminToken there\n');
      return 1;
    }
    const file = join(config.dataDir, ADMIN_TOKEN_FILE);
    await createDataDirectory(config.dataDir);
    await writeDurably(file, `${newSecret()}\n`);
    process.stdout.write(`the new token is in ${file}\n`);
    return 0;
  },
};
