import { configWarnings, endedCertificateFaults } from '../config/rules.js';
import type { Command } from './command.js';

const EXIT_FAULTY = 2;

/** Says whether the configuration is valid, and what would be warned of at a start. Faults end it before it runs. */
export const checkConfig: Command = {
  name: 'check-config',
  summary: 'checks the configuration',
  help: `usage: care-home-gateway check-config [--config FILE]

Checks the configuration without starting the gateway. Prints all faults, each with its path, or warnings.
Exit status 0 if it is valid, 2 if it is not.
`,
  run: ({ config }) => {
    const nowMs = Date.now();
    const faults = endedCertificateFaults(config, nowMs);
    if (faults.length > 0) process.stderr.write('the configuration has one fault\n');
    for (const { path, message } of faults) process.stderr.write(`  ${path}: ${message}\n`);
    if (faults.length > 0) return EXIT_FAULTY;
    for (const warning of configWarnings(config, nowMs)) {
      process.stderr.write(`warning: ${warning}\n`);
    }
    process.stdout.write('the configuration is valid\n');
    return 0;
  },
};
