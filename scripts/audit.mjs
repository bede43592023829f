// Asks the registry for known vulnerabilities: any fails in what runs, only high ones fail in the tools. If the
// registry does not answer such requests, nothing is known, and that is not a failure.
import { spawnSync } from 'node:child_process';

const AUDITS = [
  { what: 'what runs', options: ['--omit=dev', '--audit-level=low'] },
  { what: 'everything', options: ['--audit-level=high'] },
];

for (const { what, options } of AUDITS) {
  const { status, stdout } = spawnSync('npm', ['audit', '--json', ...options], {
    encoding: 'utf8',
  });
  const found = countsIn(stdout);
  if (found === undefined) {
    console.log(`audit of ${what}: the registry does not answer`);
    continue;
  }
  console.log(`audit of ${what}: ${JSON.stringify(found)}`);
  if (status !== 0) process.exitCode = 1;
}

/** The number of vulnerabilities of each severity; undefined if there is no answer. */
function countsIn(answer) {
  try {
    return JSON.parse(answer).metadata?.vulnerabilities;
  } catch {
    return undefined;
  }
}
