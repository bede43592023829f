/**
 * Guessing (contract 3, Who may connect): it is slowed down by address, over HTTP and MQTT, and keeps nobody out who knows
 * a generated secret.
 */
import {
  ADMIN_TOKEN,
  Client,
  type Credentials,
  expect,
  type Gateway,
  type Home,
  test,
  times,
} from '../harness/index.js';

const MINUTE_MS = 60_000;

/** Opens a connection from one of the addresses of this machine. */
function openFrom({ mqttPort }: Gateway, localAddress: string): Promise<Client> {
  return Client.open({ mqttPort, localAddress });
}

/** The code of a login. */
async function codeOf(gateway: Gateway, who: Credentials, address: string): Promise<number> {
  const client = await openFrom(gateway, address);
  const code = await client.login(who);
  client.vanish();
  return code;
}

const FREE_OVER_HTTP = 100;

/** Makes one request more with this token than may fail freely. */
async function guess(home: Home, token: string | null): Promise<void> {
  const answers = await times(FREE_OVER_HTTP + 1, () => home.ask('GET', '/care-homes', { token }));
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['401 unauthenticated']));
}

const tryAdmin = (home: Home) => home.ask('GET', '/care-homes');

test('over HTTP an address that guesses has to wait ever longer, except with a generated token', async ({
  own,
}) => {
  const home = await own.home({ hasStoppedClock: true });
  const { clock } = home.gateway;
  // Requests without a token count as no guesses: after them as many are free as before.
  await guess(home, null);
  const invalid = `${home.viewer.token.slice(1)}A`;
  await guess(home, invalid);
  // The administrator's was made up by a person, so the answer must not tell whether it was right.
  const refused = await tryAdmin(home);
  expect([refused.outcome, refused.headers['retry-after']]).toEqual(['429 too-many-requests', '1']);
  const asked = async (token: string) => (await home.ask('GET', '/care-homes', { token })).status;
  expect(await asked(home.viewer.token)).toBe(200);
  // A valid token does not let the others continue.
  expect(await asked(invalid)).toBe(429);
  expect((await home.ask('GET', '/healthz', { token: null })).status).toBe(200);
  for (let waitMs = 250; waitMs <= 2_000; waitMs *= 2) {
    await clock.advance(waitMs - 1);
    expect([waitMs, await asked('guess')]).toEqual([waitMs, 429]);
    await clock.advance(1);
    expect([waitMs, await asked('guess')]).toEqual([waitMs, 401]);
  }
  expect(Number((await tryAdmin(home)).headers['retry-after'])).toBeGreaterThan(1);
  await clock.advance(4_000);
  expect((await tryAdmin(home)).status).toBe(200);
});

/** The codes of the denied logins from these addresses, in order. */
async function deniedFrom(home: Home, ...addresses: string[]): Promise<string[]> {
  const all = (await home.must('GET', '/connections/denied')).list();
  const denied = all.filter(({ address }) => addresses.includes(String(address)));
  return denied.map(({ code }) => String(code)).toSorted();
}

function repeated(code: string, count: number): string[] {
  return Array.from({ length: count }, () => code);
}

const [FREE_OVER_MQTT, STRANGER] = [3, '127.0.12.1'];
const ADMIN = { id: 'admin', token: ADMIN_TOKEN };

test('over MQTT guessing stops nobody: neither a device at the address, nor the owner elsewhere', async ({
  own,
}) => {
  const home = await own.home({ hasStoppedClock: true });
  const { gateway } = home;
  const device = await home.device();
  const guesses = await times(60, () => openFrom(gateway, STRANGER));
  const wrong = { username: 'admin', password: 'guess' };
  const codes = guesses.map((client) => client.login(wrong));
  // Of those at once, few are checked, and it does not matter what the others knew.
  const checked = repeated('too-many-failed-logins', 60 - FREE_OVER_MQTT - 1).concat(
    repeated('wrong-password', FREE_OVER_MQTT + 1),
  );
  await expect.poll(() => deniedFrom(home, STRANGER)).toEqual(checked);
  const right = await openFrom(gateway, STRANGER);
  expect(await right.login(ADMIN)).toBe(4);
  expect(await codeOf(gateway, device, STRANGER)).toBe(0);
  expect(await codeOf(gateway, ADMIN, '127.0.12.2')).toBe(0);
  await gateway.clock.advance(MINUTE_MS);
  expect(await codeOf(gateway, ADMIN, STRANGER)).toBe(0);
  for (const client of [...guesses, right]) client.vanish();
  expect(new Set(await Promise.all(codes))).toEqual(new Set([4]));
});
