import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** Debian's package, which draws to no screen, and needs half the time of the one for a desktop. */
const PROGRAM = '/usr/bin/chromium-headless-shell';

export interface ConsoleOptions {
  /** Signs in by a link; without one the sign-in page is shown. */
  readonly token?: string;
  /** Behind the `#` of the address. */
  readonly path?: string;
  readonly language?: 'en-GB' | 'de-DE';
  readonly widthPx?: number;
  readonly heightPx?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly timeZone?: string;
  readonly hasTouch?: boolean;
}

/** Where a browser reaches a gateway; without a slash at its end. */
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

/** Starts a Chromium; the test or hook that called this closes it. */
export function startBrowser(): Promise<Browser> {
  // Without its sandbox, which the tests' user, root, cannot have.
  // As everywhere but in this package, sound needs a gesture.
  const args = ['--no-sandbox', '--autoplay-policy=document-user-activation-required'];
  return chromium.launch({ executablePath: PROGRAM, args });
}

/** Opens the console in a profile of its own, which ends with the test. */
export async function openConsole(
  browser: Browser,
  gateway: Reachable,
  options: ConsoleOptions = {},
): Promise<OpenConsole> {
  const { token, path = '/', language = 'en-GB', colorScheme = 'light' } = options;
  const context = await browser.newContext({
    locale: language,
    colorScheme,
    timezoneId: options.timeZone ?? 'UTC',
    viewport: { width: options.widthPx ?? 1280, height: options.heightPx ?? 800 },
    hasTouch: options.hasTouch ?? false,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const faults = watchFaults(page, gateway);
  const query = token === undefined ? '' : `${path.includes('?') ? '&' : '?'}token=${token}`;
  await page.goto(`${gateway.httpUrl}/#${path}${query}`);
  return { page, context, faults };
}

/** Sets the clock of the tablet ten days ahead, from the next load on. */
export async function setClockAhead(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const rightNow = Date.now.bind(Date);
    Date.now = () => rightNow() + 10 * 24 * 60 * 60 * 1000;
  });
}

function watchFaults(page: Page, gateway: Reachable): readonly string[] {
  const faults: string[] = [];
  const { origin } = new URL(gateway.httpUrl);
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    if (text.includes('Content Security Policy') || text.includes('Content-Security-Policy')) {
      faults.push(text);
    }
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === origin || url.protocol === 'blob:';
    if (!isOwn) faults.push(`request to ${url.origin}`);
  });
  return faults;
}
