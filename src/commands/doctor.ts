import { pino } from 'pino';
import { type Finding, fault, faultWords } from '../domain/fault.js';
import { maxOpenFiles } from '../network/open-files.js';
import type { Command } from './command.js';

const LABELS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const;

/** Looks the gateway over, while it runs or not. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'looks over configuration, store, disk, clock, certificate, ports and rights',
  help: `usage: care-home-gateway doctor [--config FILE]

Checks the configuration, the store and its settings, the disk, the clock, the certificate, the ports, the rights of the
files, the limits of the process, and Node.js, while the gateway runs or not. Each line is ok, warn or FAIL, with what to
do. Exit status 1 if one is FAIL. Run it as the user of the gateway.
`,
  judge: (faults) =>
    print(
      faults.map(({ path, message }) => {
        const reason = `${path}: ${message}`;
        const words = faultWords(
          { ...fault('configurationFaulty', { reason }), more: undefined },
          'en',
        );
        const { message: finding, advice } = words;
        return { check: 'configuration', state: 'fail', finding, advice };
      }),
    ),
  run: async ({ config }) => {
    const { examine } = await import('../doctor.js');
    const { env, version: runtime } = process;
    const findings = await examine(
      {
        config,
        log: pino({ level: 'silent' }),
        maxOpenFiles: maxOpenFiles(),
        now: Date.now,
        runtime,
        searchPath: env['PATH'],
      },
      'en',
    );
    return print(findings);
  },
};

/** @returns the exit status */
function print(findings: readonly Finding[]): number {
  for (const { check, state, finding, advice } of findings) {
    process.stdout.write(`${LABELS[state]}  ${check}: ${finding}\n`);
    if (advice !== undefined) process.stdout.write(`      -> ${advice}\n`);
  }
  return findings.some(({ state }) => state === 'fail') ? 1 : 0;
}
