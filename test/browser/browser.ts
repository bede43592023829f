/**
 * The console in a browser: `test` gives a test `open`, which shows it for a token of the test's home.
 *
 * A script's error, a violation of the Content-Security-Policy or a request to another host fails the test. Data come
 * over HTTP and MQTT through `home`; a page is only looked at, and clicked where clicking is the promise.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import {
  test as base,
  expect,
  type GatewayOptions,
  type Home,
  testWith as otherBase,
  type TestDevice,
  WAIT_MS,
} from '../harness/index.js';

export * from '../harness/index.js';

/** Debian's package, which draws to no screen and takes half the time of the desktop one. */
const PROGRAM = '/usr/bin/chromium-headless-shell';
const CLEARED_WITHIN_MS = 5_000;

export interface View {
  /** The role in the home of the token that signs in by a link; `viewer` unless said. */
  readonly role?: string;
  /** Instead of a new token; null shows the sign-in page. */
  readonly token?: string | null;
  /** Follows the `#` of the address. */
  readonly path?: string;
  /** Where the browser reaches the gateway, without a slash at the end; the gateway itself unless said. */
  readonly url?: string;
  readonly language?: 'en-GB' | 'de-DE';
  readonly widthPx?: number;
  readonly heightPx?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly timeZone?: string;
  readonly hasTouch?: boolean;
  /** Gives the page a clock that `page.clock` sets forward. */
  readonly hasClock?: boolean;
  /** Prepares the page before it loads the console. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** Faults that the test causes. */
  readonly causes?: RegExp;
}

export type Open = (view?: View) => Promise<Page>;

/** A page in its own profile, with what must not happen on it. */
interface Tab {
  readonly page: Page;
  /** What its profile keeps. */
  readonly key: string;
  readonly isPrepared: boolean;
  faults: string[];
  causes: RegExp | undefined;
}

let started: Promise<Browser> | undefined;
/** Tabs that no test uses, by what a profile keeps: opening one takes twice as long as loading the console. */
const idleTabs = new Map<string, Tab[]>();

/** The Chromium of this process, for the tests of all its files; it ends with the process. */
export function startBrowser(): Promise<Browser> {
  // Without its sandbox, which root, the tests' user, cannot have. Sound needs a gesture, as everywhere else.
  const args = ['--no-sandbox', '--autoplay-policy=document-user-activation-required'];
  started ??= chromium.launch({ executablePath: PROGRAM, args });
  return started;
}

const pages = {
  open: async ({ home }: { home: Home }, use: (open: Open) => Promise<void>) => {
    const tabs: Tab[] = [];
    await use(async (view = {}) => {
      const tab = await tabFor(view);
      tabs.push(tab);
      await show(tab.page, home, view);
      return tab.page;
    });
    for (const tab of tabs) {
      // A page with an open dialog answers nothing.
      const isClear = Promise.race([clear(tab.page), delay(CLEARED_WITHIN_MS, false)]);
      if (tab.isPrepared || !(await isClear)) await tab.page.context().close();
      else idleTabs.set(tab.key, [...(idleTabs.get(tab.key) ?? []), tab]);
    }
    const faults = tabs.flatMap((tab) => tab.faults.filter((fault) => !tab.causes?.test(fault)));
    expect(faults).toEqual([]);
  },
};

/** A test with a home in the shared gateway. */
export const test = base.extend<{ $test: { readonly open: Open } }>(pages);

/** `test` with a gateway of the file's own. */
export function testWith(options: GatewayOptions) {
  return otherBase(options).extend<{ $test: { readonly open: Open } }>(pages);
}

async function tabFor({ hasClock, prepare, ...view }: View): Promise<Tab> {
  const { language = 'en-GB', timeZone = 'UTC', hasTouch = false } = view;
  const kept: BrowserContextOptions = { locale: language, timezoneId: timeZone, hasTouch };
  const key = JSON.stringify(kept);
  // A prepared page stays prepared.
  const isPrepared = prepare !== undefined || hasClock === true;
  const tab =
    (isPrepared ? undefined : idleTabs.get(key)?.pop()) ?? (await newTab(kept, isPrepared));
  tab.faults = [];
  tab.causes = view.causes;
  if (hasClock === true) await tab.page.clock.install();
  await prepare?.(tab.page);
  return tab;
}

async function newTab(kept: BrowserContextOptions, isPrepared: boolean): Promise<Tab> {
  const context = await (await startBrowser()).newContext(kept);
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const tab: Tab = { page, key: JSON.stringify(kept), isPrepared, faults: [], causes: undefined };
  page.on('pageerror', (error) => tab.faults.push(String(error)));
  page.on('console', (message) => {
    if (/Content.Security.Policy/.test(message.text())) tab.faults.push(message.text());
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    const isOwn = new URL(page.url()).origin === origin || request.isNavigationRequest();
    if (!isOwn && protocol !== 'blob:') tab.faults.push(`request to ${origin}`);
  });
  return tab;
}

async function show(page: Page, home: Home, view: View): Promise<void> {
  const { path = '/', colorScheme = 'light', widthPx = 1280, heightPx = 800 } = view;
  const issued = view.token === undefined ? (await home.token(view.role)).token : view.token;
  await page.setViewportSize({ width: widthPx, height: heightPx });
  await page.emulateMedia({ colorScheme, media: null });
  const query = issued === null ? '' : `${path.includes('?') ? '&' : '?'}token=${issued}`;
  await page.goto(`${view.url ?? home.gateway.httpUrl}/#${path}${query}`);
}

/** Removes from a tab what the test left in it. Returns whether that was possible. */
async function clear(page: Page): Promise<boolean> {
  const context = page.context();
  try {
    for (const other of context.pages()) if (other !== page) await other.close();
    page.removeAllListeners('dialog');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.setOffline(false);
    await page.evaluate(() => {
      sessionStorage.clear();
      localStorage.clear();
    });
    await page.goto('about:blank');
    return true;
  } catch {
    return false;
  }
}

/** A device in a room of a group, which boards and lists name. */
export async function bedSensor(home: Home, room = 'Room 12'): Promise<TestDevice> {
  return home.deviceIn(await home.room(room, await home.group('First floor')), 'Bed sensor');
}

/** Publishes an alarm as the device, and resolves once the gateway has taken it. */
export function raise(home: Home, device: TestDevice, ...alarms: readonly object[]): Promise<void> {
  return home.publish(
    device,
    'alarms',
    alarms.map((alarm) => JSON.stringify(alarm)),
  );
}

/** The alarm on the board with this title. */
export function alarm(page: Page, title: string | RegExp): Locator {
  return page.getByRole('article', { name: title });
}

/** Resolves once the board is connected and has read the open alarms. */
export async function boardReady(page: Page): Promise<void> {
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.locator('.board-none, .board-alarm').first().waitFor();
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Fails with the WCAG 2.2 AA faults that axe-core finds on the page as shown, or if it is wider than the screen. */
export async function requireAccessible(page: Page, within = ':root'): Promise<void> {
  // Evaluated instead of added as an element, which the Content-Security-Policy forbids.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(AXE);
  const found: unknown = await page.evaluate(`(async () => {
    const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const resultTypes = ['violations', 'incomplete'];
    const { violations, incomplete } = await axe.run('${within}', { runOnly, resultTypes });
    const texts = (list) =>
      list.flatMap(({ id, nodes }) => nodes.map((one) => id + ': ' + one.html + one.failureSummary));
    // axe-core takes text in the colour of its background for text that is hidden on purpose.
    return texts(violations).concat(texts(incomplete).filter((fault) => fault.includes('1:1 contrast')));
  })()`);
  expect(found).toEqual([]);
  const width: unknown = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(width).toBeLessThanOrEqual(0);
}
