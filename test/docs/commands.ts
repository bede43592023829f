import { Page } from './page.js';

/** Blocks that no test can run, by their beginning, with the reason. */
export const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ['cd /opt/care-home-gateway\nnpm ci', 'needs root, and systemd'],
  ['node /opt/care-home-gateway/dist/main.js check-config', 'the same'],
  ['systemctl stop care-home-gateway\ncd', 'the same'],
  ['systemctl stop care-home-gateway\ntar', 'the same'],
  ['systemctl stop care-home-gateway\nrm', 'the same'],
  ['apt-get install --yes redis-server', 'needs three machines; test/pair starts the files'],
  ['install -o redis -g redis -m 640 config/pair/redis.conf', 'the same'],
  ['install -o redis -g redis -m 640 config/pair/sentinel.conf', 'the same'],
  ['install -d /etc/care-home-gateway', 'the same'],
  ['install -d -m 700 /var/lib/care-home-gateway', 'the same'],
  ['install -D -m 755 config/pair/gateway-serves.sh', 'the same'],
  ['apt-get update', 'the same'],
  ['REDISCLI_AUTH=SENTINEL redis-cli -p 26379 sentinel failover', 'the same'],
  [
    'install -o redis -g redis -m 640 config/many-homes',
    'needs six machines; test/pair starts the file',
  ],
  ['export REDISCLI_AUTH=STORE\nredis-cli --cluster create', 'the same'],
  ['systemctl enable --now care-home-gateway@', 'needs root, and systemd'],
  ['redis-cli --cluster add-node', 'needs six machines; test/pair moves slots'],
  ['npm install -g care-home-gateway', 'the same; test/packaging.test.ts installs a package'],
  ['docker compose', 'needs Docker, and a registry'],
  ['docker build', 'the same'],
  ['npm run bench -- speed', 'takes half an hour'],
  ['npm run bench\n', 'takes many minutes'],
  [
    'npm run chaos -- --minutes',
    'takes many minutes; test/chaos/chaos.slow.test.ts is a short run',
  ],
  ['npm run chaos -- --pair', 'the same; test/chaos/pair/pair.slow.test.ts is a short run'],
  ['npm run hostile', 'takes many minutes; test/hostile/hostile.load.test.ts is a short run'],
  ['GATEWAY_TEST_LONG=1', 'takes many minutes'],
]);

/** Commands that start a gateway. */
export const STARTS = {
  fromReadme: 'npm start\n',
  withFile: 'node dist/main.js --config config/gateway.yaml\n',
};

/** Whether a test runs the block. */
export function isRun(block: string): boolean {
  return [...NOT_RUN.keys()].every((beginning) => !block.startsWith(beginning));
}

/** The commands of a page that a test runs, in order, except those that start a gateway. */
export function commandsOf(path: string): string[] {
  const starts = Object.values(STARTS);
  return new Page(path).blocks('sh').filter((block) => isRun(block) && !starts.includes(block));
}
