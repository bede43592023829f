import { signal } from '@preact/signals';
import { render } from 'preact';
import { App } from './app.js';
import { ConsoleContext, type ConsoleParts } from './console-parts.js';
import { languageChoice } from './language.js';
import { LiveFeed } from './live/live-feed.js';
import { authorize } from './request.js';
import { Routing } from './routing.js';
import { Session } from './session/session.js';
import { themeChoice } from './ui/theme.js';

/** Other messages of devices are read only where they are shown: there may be thousands a second. */
const LIVE_FILTERS = [
  'care-homes/+/devices/+/alarms/+',
  'care-homes/+/devices/+/alarm-states/+',
  'care-homes/+/devices/+/escalations/+',
  'care-homes/+/devices/+/status',
  'care-homes/+/devices/+/supervision',
  'gateway/status',
];

const root = document.getElementById('console');
if (root !== null) start(root);

function start(element: HTMLElement): void {
  const session = new Session();
  const parts: ConsoleParts = {
    session,
    language: languageChoice(),
    theme: themeChoice(),
    routing: new Routing(),
    live: new LiveFeed(LIVE_FILTERS, (token) => session.refused(token)),
    tabNote: signal(undefined),
  };
  authorize(session);
  render(
    <ConsoleContext.Provider value={parts}>
      <App />
    </ConsoleContext.Provider>,
    element,
  );
}
