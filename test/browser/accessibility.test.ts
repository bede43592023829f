/**
 * Every page in both languages, in light and dark colours, on a desk and on a phone: no fault that axe-core finds, no
 * wider than the screen, also with names of 120 letters without a space. That all of it changes with the language. And
 * what the board costs to load.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import {
  createToken,
  expect,
  type Home,
  raise,
  requireAccessible,
  type TestDevice,
  test,
} from './browser.js';

const LONG = 'Mehrzweckpflegestation'.repeat(6).slice(0, 120);
const LOOKS = [
  { language: 'en-GB', colorScheme: 'light', widthPx: 1280 },
  { language: 'de-DE', colorScheme: 'dark', widthPx: 360 },
] as const;

/** A home in which every name is long, with an alarm that somebody has acknowledged. */
async function longHome(home: Home): Promise<TestDevice> {
  await home.must('PATCH', home.path, { json: { name: LONG } });
  const device = await home.deviceIn(await home.room(LONG, await home.group(LONG)), LONG);
  await home.customData(device, JSON.stringify({ [LONG]: LONG }));
  const id = randomUUID();
  await raise(home, device, { id, kind: 'fall' }, { kind: 'noise' });
  await home.must('POST', `./alarms/${id}/acknowledge`, { json: { note: LONG } });
  return device;
}

interface Place {
  readonly path: string;
  /** What is shown, and then done, in each state that is looked at. */
  readonly shown: string;
  readonly states?: readonly ((page: Page) => Promise<unknown>)[];
}

/** Opens each dialog that a button of a home leads to, and what asks before it deletes. */
async function homeDialogs(page: Page): Promise<void> {
  const buttons = page.getByRole('main').getByRole('button');
  const dialog = page.getByRole('dialog');
  const close = async () => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };
  for (let index = 0, count = await buttons.count(); index < count; index++) {
    await buttons.nth(index).click();
    await dialog.waitFor();
    await requireAccessible(page, 'dialog');
    const deletion = dialog.getByRole('button', { name: /^(Delete|Löschen) …$/ });
    if (await deletion.isVisible()) {
      await deletion.click();
      await dialog.getByRole('button', { name: /^(Delete|Löschen)$/ }).waitFor();
      await requireAccessible(page, 'dialog');
    }
    await close();
  }
}

const PARTS: Record<string, (home: Home, device: TestDevice) => Place[]> = {
  'the board and the history': ({ locationId }) => [
    { path: '/', shown: '.board-alarm', states: [wallLink] },
    { path: '/?kiosk', shown: '.board-alarm' },
    {
      path: `/history?location=${locationId}`,
      shown: '.history-state',
      states: [
        (page) =>
          page
            .getByRole('button', { name: /^(Details|Einzelheiten)/ })
            .first()
            .click(),
        async (page) => {
          // A phone hides them.
          const summary = page.locator('.history-filters summary');
          if (await summary.isVisible()) await summary.click();
        },
      ],
    },
    {
      path: `/history?location=${locationId}&view=chart`,
      shown: '.history-bar',
      states: [(page) => page.locator('.history-chart button[aria-expanded]').click()],
    },
    { path: `/history?location=${locationId}&kinds=helpCall`, shown: '.history-list' },
  ],
  'a home': ({ locationId }, { id }) => [
    { path: '/home', shown: '.home-homes' },
    { path: `/home/${locationId}`, shown: '.home-device', states: [homeDialogs] },
    {
      path: `/home/${locationId}/import`,
      shown: 'textarea',
      states: [(page) => page.locator('textarea').fill(`${LONG};Room 7\n;Room 8\nNew;Sauna`)],
    },
    {
      path: `/home/${locationId}/devices/${id}`,
      shown: '.home-alarms li',
      states: [
        (page) => page.getByRole('textbox').fill('{'),
        async (page) => {
          await page.getByRole('button', { name: /New secret|Neues Geheimnis/ }).click();
          await page.getByRole('dialog').locator('button.danger').click();
          await page.locator('.home-label').waitFor();
        },
      ],
    },
    { path: `/home/${locationId}/hubs`, shown: 'main h1' },
    { path: `/home/${locationId}/drills`, shown: 'main h1' },
    { path: `/home/${locationId}/hubs`, shown: 'main h1' },
  ],
  'the gateway': () => [
    { path: '/gateway', shown: 'main h2' },
    { path: '/gateway/connections', shown: 'main table' },
    { path: '/gateway/bridges', shown: 'main h2' },
    { path: '/gateway/webhooks', shown: 'main h2' },
    { path: '/gateway/doctor', shown: '.gateway-findings li' },
    { path: '/gateway/tokens', shown: 'main table', states: [newToken, issuedToken, revokedToken] },
    {
      path: '/gateway/audit',
      shown: 'main table',
      states: [
        (page) => page.locator('summary').first().click(),
        (page) => page.locator('.gateway-only').first().click(),
      ],
    },
  ],
};

/** Several lists may be loading. */
function allLoaded(page: Page): Promise<void> {
  return expect
    .poll(() => page.getByText(/^(Loading|Wird geladen|Checking|Wird geprüft)/).count())
    .toBe(0);
}

async function wallLink(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /Link for a wall screen|Link für einen Wandbildschirm/ })
    .click();
  await page.locator('dialog form').waitFor();
  await requireAccessible(page, 'dialog');
  await page.locator('dialog button[type=submit]').click();
  await page.locator('dialog [role=img]').waitFor();
}

async function newToken(page: Page): Promise<void> {
  await page.getByRole('button', { name: /New access token|Neuer Zugangstoken/ }).click();
  await page.locator('dialog form').waitFor();
}

async function issuedToken(page: Page): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(LONG);
  await page.locator('dialog button[type=submit]').click();
  await page.locator('dialog [role=img]').waitFor();
}

async function revokedToken(page: Page): Promise<void> {
  await page.locator('dialog button.primary').click();
  await page.locator('td button.danger').first().click();
  await page.locator('dialog form').waitFor();
}

/** A page that is drawn for one width is no wider than the screen at any other. */
async function requireFitting(page: Page, widthPx: number): Promise<void> {
  const height = page.viewportSize()?.height ?? 0;
  for (const width of [1024, 1280, 1920, 390, widthPx]) {
    await page.setViewportSize({ width, height });
    const excess: unknown = await page.evaluate(
      'document.documentElement.scrollWidth - innerWidth',
    );
    expect(excess, `${page.url()} at ${width}`).toBeLessThanOrEqual(0);
  }
}

const ROWS = LOOKS.flatMap((look) =>
  Object.entries(PARTS).map(([part, placesOf]) => ({ look, part, placesOf })),
);

for (const { look, part, placesOf } of ROWS) {
  test(`every page of ${part} is accessible in ${look.language}, ${look.colorScheme}`, async ({
    own,
    open,
  }) => {
    // With the only home of its gateway: a page names them all.
    const home = await own.home();
    const device = await longHome(home);
    const { token } = await createToken(home.gateway, [{ location: '*', role: 'admin' }], LONG);
    const url = home.gateway.httpUrl;
    const page = await open({ ...look, url, token: null });
    await page.locator('form').waitFor();
    await requireAccessible(page);
    await page.goto(`${url}/#/?token=${token}`);
    await page.locator('.connection.good').waitFor();
    page.on('dialog', (dialog) => void dialog.accept());
    for (const { path, shown, states = [] } of placesOf(home, device)) {
      // Each page loads anew: one that asks whether it may be left has then been left.
      await page.goto('about:blank');
      await page.goto(`${url}/#${path}`);
      await page.locator(shown).first().waitFor();
      await allLoaded(page);
      await requireAccessible(page);
      await requireFitting(page, look.widthPx);
      for (const state of states) {
        await state(page);
        await requireAccessible(page);
      }
    }
    expect(await page.locator('html').getAttribute('lang')).toBe(look.language.slice(0, 2));
  });
}

/** What can be read or heard on the page, without numbers, times and ids. */
function textsOf(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll('title, body *:not(time, code)')]
    .flatMap((one) => [
      ...[...one.childNodes].map(({ nodeType, data }) => (nodeType === Node.TEXT_NODE ? data : '')),
      ...['aria-label', 'title', 'placeholder'].map((name) => one.getAttribute(name) ?? ''),
    ])
    .map((text) => text.replaceAll(/[0-9]+/g, '0'))`);
}

test('every page is drawn again in the language that is chosen', async ({ own, open }) => {
  const home = await own.home();
  const device = await longHome(home);
  const { token } = await createToken(home.gateway, [{ location: '*', role: 'admin' }]);
  const page = await open({ url: home.gateway.httpUrl, token });
  await page.locator('.connection.good').waitFor();
  const places = Object.values(PARTS).flatMap((placesOf) => placesOf(home, device));
  // A screen on the wall has no choice of languages.
  for (const { path, shown } of places.filter((place) => !place.path.includes('kiosk'))) {
    await page.goto(`${home.gateway.httpUrl}/#${path}`);
    await page.locator(shown).first().waitFor();
    await allLoaded(page);
    const isGerman = (await page.locator('html').getAttribute('lang')) === 'de';
    await page.getByLabel(/^(Language|Sprache)$/).selectOption(isGerman ? 'en' : 'de');
    // The tab's title is set last.
    const named = isGerman ? 'Care-home gateway' : 'Pflegeheim-Gateway';
    await page.waitForFunction((end) => document.title.endsWith(end), named);
    await allLoaded(page);
    const chosen = await textsOf(page);
    // Loaded anew, everything is in the language that was chosen.
    await page.reload();
    await expect.poll(() => textsOf(page)).toEqual(chosen);
  }
});

test('the board is accessible empty and with a new alarm, at the start of its animation, in both colours', async ({
  home,
  open,
}) => {
  const device = await home.device();
  const page = await open({ widthPx: 360 });
  const both = async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await requireAccessible(page);
    }
  };
  await page.getByText('No open alarms').waitFor();
  await both();
  await raise(home, device, { kind: 'fall' });
  await page.waitForFunction(() => {
    const animations = document.getAnimations();
    for (const animation of animations) {
      animation.pause();
      animation.currentTime = 0;
    }
    return animations.length > 0;
  });
  await both();
});

test('the board needs at most 38 kB of JavaScript, compressed', () => {
  const html = readFileSync('dist/console/index.html', 'utf8');
  const waiting = [...html.matchAll(/\.\/console\/([^"]+\.js)/g)].map(([, name = '']) => name);
  const sizes = new Map<string, number>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (sizes.has(name)) continue;
    const script = readFileSync(`dist/console/console/${name}`);
    sizes.set(name, gzipSync(script).length);
    // `import("./x.js")`, with a parenthesis, loads when a page is shown.
    const imports = script.toString().matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g);
    waiting.push(...[...imports].map(([, next = '']) => next));
  }
  expect(sizes.size).toBeGreaterThan(0);
  expect([...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(38_000);
});
