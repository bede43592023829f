import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { configWarnings } from '../../src/config/warnings.js';
import { GatewayError } from '../../src/errors.js';

type Lists = Readonly<Record<string, readonly object[]>>;

function load(lists: Lists) {
  const variables = Object.entries(lists).map(([key, list]) => [
    `GATEWAY_${key.toUpperCase()}`,
    JSON.stringify(list),
  ]);
  const env = Object.fromEntries(variables);
  return loadConfig({ file: undefined, programDir: '/none', cwd: '/working', env });
}

/** The faults of lists of the configuration, as `check-config` shows them. */
function faultsOf(lists: Lists): string[] {
  try {
    load(lists);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message.replace(/^\w+: /, '')}`);
  }
  return [];
}

const WEBHOOK = {
  name: 'hook',
  type: 'webhook',
  url: 'https://hooks.example.org/',
  secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  topics: ['care-homes/#'],
};

test.each(['whsec_', 'whsec_!!!', 'whsec_C2FVsBQ'])(
  'reports a secret of a webhook that is not base64: %s',
  (secret) => {
    expect(faultsOf({ outputs: [{ ...WEBHOOK, secret }] })).toEqual([
      'outputs.0.secret: must be base64 after whsec_',
    ]);
  },
);

test('accepts any other text as a secret', () => {
  expect(faultsOf({ outputs: [{ ...WEBHOOK, secret: 'a secret' }] })).toEqual([]);
});

test('warns of topics of a webhook that match nothing that is sent', () => {
  const topics = ['devices/#', 'care-homes/#', '$share/a/#', '#', 'gateway/status'];
  const config = load({ outputs: [{ ...WEBHOOK, topics }] });
  expect(configWarnings(config, Date.now())).toEqual([
    'outputs: devices/# of hook matches no topic that is sent',
    'outputs: $share/a/# of hook matches no topic that is sent',
  ]);
});

test('reports duplicate names together with other faults', () => {
  const escalations = [
    { name: 'x', afterSeconds: 0 },
    { name: 'x', afterSeconds: 5 },
  ];
  const outputs = [WEBHOOK, { ...WEBHOOK, secret: '' }];
  expect(faultsOf({ escalations, outputs }).toSorted()).toEqual([
    'escalations.0.afterSeconds: must be at least 1',
    'escalations: must have different names',
    'outputs.1.secret: must not be empty',
    'outputs: must have different names',
  ]);
});
