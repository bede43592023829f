import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { RunningGateway } from '../former/gateway/running-gateway.js';
import { CutProxy } from '../former/servers/cut-proxy.js';

/** Debian's package, which draws to no screen and takes half the time of the desktop one. */
const PROGRAM = '/usr/bin/chromium-headless-shell';

/** Less than a test has, so that the error says what was missing. */
const WAIT_TIMEOUT_MS = 30_000;

export interface ConsoleOptions {
  /** Signs in by a link; without a token the sign-in page appears. */
  readonly token?: string;
  /** Follows the `#` of the address. */
  readonly path?: string;
  readonly language?: 'en-GB' | 'de-DE';
  readonly widthPx?: number;
  readonly heightPx?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly timeZone?: string;
  readonly hasTouch?: boolean;
  /** Prepares the page before it loads the console, for instance with a script or clock. */
  readonly prepare?: ((page: Page) => Promise<unknown>) | undefined;
}

/** Where a browser reaches a gateway. The URL has no slash at its end. */
export interface Reachable {
  readonly httpUrl: string;
}

/** The console in a browser, with what must not happen on any page. */
export interface OpenConsole {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, violations of the Content-Security-Policy, and requests to other hosts. */
  readonly faults: readonly string[];
}

let started: Promise<Browser> | undefined;

/** The Chromium of this process, for the tests of all its files; it ends with the process. */
export function startBrowser(): Promise<Browser> {
  // Without its sandbox, which root, the tests' user, cannot have.
  // Sound needs a gesture, as everywhere except in this package.
  const args = ['--no-sandbox', '--autoplay-policy=document-user-activation-required'];
  started ??= chromium.launch({ executablePath: PROGRAM, args });
  return started;
}

/** A page in its own profile, with its faults and the origin that it may request from. */
interface Tab {
  readonly page: Page;
  faults: string[];
  origin: string;
}

/** Tabs that no test uses, by what a profile keeps: opening one takes twice as long as loading the console. */
const idleTabs = new Map<string, Tab[]>();

/** Opens the console in a profile that has nothing of other tests; the tab ends with the test. */
export async function openConsole(
  gateway: Reachable,
  options: ConsoleOptions = {},
): Promise<OpenConsole> {
  const { token, path = '/', language = 'en-GB', colorScheme = 'light', prepare } = options;
  const { timeZone = 'UTC', hasTouch = false, widthPx = 1280, heightPx = 800 } = options;
  const kept = { locale: language, timezoneId: timeZone, hasTouch };
  const idle = idleTabs.get(JSON.stringify(kept)) ?? [];
  idleTabs.set(JSON.stringify(kept), idle);
  // A prepared page stays prepared.
  const tab = (prepare === undefined ? idle.pop() : undefined) ?? (await newTab(kept));
  const { page } = tab;
  onTestFinished(async ({ task }) => {
    const isUsable = prepare === undefined && task.result?.state !== 'fail' && (await clear(page));
    if (isUsable) idle.push(tab);
    else await page.context().close();
  });
  tab.faults = [];
  tab.origin = new URL(gateway.httpUrl).origin;
  await page.setViewportSize({ width: widthPx, height: heightPx });
  await page.emulateMedia({ colorScheme, media: null });
  await prepare?.(page);
  const query = token === undefined ? '' : `${path.includes('?') ? '&' : '?'}token=${token}`;
  await page.goto(`${gateway.httpUrl}/#${path}${query}`);
  return { page, context: page.context(), faults: tab.faults };
}

async function newTab(kept: BrowserContextOptions): Promise<Tab> {
  const context = await (await startBrowser()).newContext(kept);
  context.setDefaultTimeout(WAIT_TIMEOUT_MS);
  const tab: Tab = { page: await context.newPage(), faults: [], origin: '' };
  watchFaults(tab);
  return tab;
}

/** Removes from a tab what the test left in it. Returns whether that was possible. */
async function clear(page: Page): Promise<boolean> {
  const context = page.context();
  try {
    for (const other of context.pages()) if (other !== page) await other.close();
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

/** Leaves the page, by the link to the history unless told how, and answers no to the question that holds `text`. */
export async function refuseToLeave(
  page: Page,
  text: string,
  leave: () => Promise<unknown> = () =>
    page.getByRole('link', { name: 'History', exact: true }).click(),
): Promise<void> {
  const asked = page.waitForEvent('dialog');
  const left = leave();
  const dialog = await asked;
  expect(dialog.message()).toContain(text);
  await dialog.dismiss();
  await left;
}

/** Gives the page a clock that the test can set forward. */
export function installClock(page: Page): Promise<void> {
  return page.clock.install();
}

/** A link to the gateway that a test can cut; it ends with the test. */
export class Network implements Reachable {
  readonly #proxy: CutProxy;

  private constructor(proxy: CutProxy) {
    this.#proxy = proxy;
  }

  static async to(gateway: RunningGateway): Promise<Network> {
    const proxy = await CutProxy.start(gateway.addresses.http);
    onTestFinished(() => proxy.close());
    return new Network(proxy);
  }

  get httpUrl(): string {
    return `http://127.0.0.1:${this.#proxy.port}`;
  }

  /** Breaks all connections; resolves when the pages show it. */
  async cut(...pages: readonly Page[]): Promise<void> {
    this.#proxy.refuse();
    for (const page of pages) await page.locator('.lost-banner').waitFor();
  }

  /** Lets the pages through again, and tells them that the network is back. */
  async mend(...pages: readonly Page[]): Promise<void> {
    this.#proxy.pass();
    for (const page of pages) await page.evaluate(() => dispatchEvent(new Event('online')));
  }
}

/** Sets the clock of the tablet ten days ahead. */
export async function setClockAhead(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const rightNow = Date.now.bind(Date);
    Date.now = () => rightNow() + 10 * 24 * 60 * 60 * 1000;
  });
}

function watchFaults(tab: Tab): void {
  tab.page.on('pageerror', (error) => tab.faults.push(String(error)));
  tab.page.on('console', (message) => {
    const text = message.text();
    if (text.includes('Content Security Policy') || text.includes('Content-Security-Policy')) {
      tab.faults.push(text);
    }
  });
  tab.page.on('request', (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === tab.origin || ['blob:', 'about:'].includes(url.protocol);
    if (!isOwn) tab.faults.push(`request to ${url.origin}`);
  });
}
