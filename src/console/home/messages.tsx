/** The messages of one device as they come, over a stream of its own: the newest fifty, which can be frozen. */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { dateTime, t } from '../language.js';
import { LiveFeed, type LiveMessage } from '../live.js';
import { exactJson } from '../request.js';
import { session } from '../session.js';
import { statusReceived } from './home.js';

const MAX_MESSAGES = 50;
/** What the gateway tells about the device, and not the device itself. */
const OF_GATEWAY = new Set(['status', 'supervision', 'alarm-states', 'escalations', 'rejected']);

interface StreamedMessage extends LiveMessage {
  /** Rises by one with each message. */
  readonly number: number;
  readonly shownAt: string;
}

/** The newest messages of one device, while its page is shown. */
export class DeviceStream {
  readonly feed: LiveFeed;
  readonly #messages = signal<readonly StreamedMessage[]>([]);
  readonly #isPaused = signal(false);
  readonly #heardAt = signal<string | undefined>(undefined);
  /** The newest first. */
  readonly messages: ReadonlySignal<readonly StreamedMessage[]> = this.#messages;
  readonly isPaused: ReadonlySignal<boolean> = this.#isPaused;
  /** When the device last sent something; undefined if it has not since the stream began. */
  readonly heardAt: ReadonlySignal<string | undefined> = this.#heardAt;
  #newest: readonly StreamedMessage[] = [];
  #count = 0;
  #frame: number | undefined;

  constructor(filter: string) {
    this.feed = new LiveFeed([filter]);
    this.feed.listen({
      message: (message) => this.#received(message),
      missed: () => undefined,
    });
  }

  /** Freezes what is shown; messages that come meanwhile appear when it resumes. */
  setPaused(isPaused: boolean): void {
    this.#isPaused.value = isPaused;
    this.#show();
  }

  clear(): void {
    this.#newest = [];
    this.#messages.value = [];
  }

  #received(message: LiveMessage): void {
    // The first is the retained one, which tells since when the device is online.
    statusReceived(message);
    this.#count += 1;
    const shownAt = new Date(this.feed.clock.now()).toISOString();
    this.#newest = [
      { ...message, number: this.#count, shownAt },
      ...this.#newest.slice(0, MAX_MESSAGES - 1),
    ];
    const [, , , , level = ''] = message.topic.split('/');
    if (!message.retained && !OF_GATEWAY.has(level)) this.#heardAt.value = shownAt;
    // Once per frame, however fast a device sends.
    this.#frame ??= requestAnimationFrame(() => this.#show());
  }

  #show(): void {
    this.#frame = undefined;
    if (!this.#isPaused.peek()) this.#messages.value = this.#newest;
  }
}

/** Reads the messages of a device until its page is left. */
export function useDeviceStream(locationId: string, deviceId: string): DeviceStream {
  const token = session.token.value;
  const stream = useMemo(
    () => new DeviceStream(`care-homes/${locationId}/devices/${deviceId}/#`),
    [locationId, deviceId],
  );
  useLayoutEffect(() => {
    if (token === null) return;
    stream.feed.start(token);
    return () => stream.feed.stop();
  }, [stream, token]);
  return stream;
}

const streamStates = () => ({
  connecting: t('Connecting …', 'Verbindung wird aufgebaut …'),
  connected: t(
    'What the device sends appears here, the newest first.',
    'Was das Gerät sendet, erscheint hier, das Neueste zuerst.',
  ),
  lost: t(
    'Not connected. What comes now does not appear here.',
    'Keine Verbindung. Was jetzt kommt, erscheint hier nicht.',
  ),
});

export function DeviceMessages({ stream }: { readonly stream: DeviceStream }) {
  const messages = stream.messages.value;
  const isPaused = stream.isPaused.value;
  return (
    <section aria-label={t('Messages, live', 'Nachrichten, live')}>
      <div class="row home-title">
        <h2>{t('Messages, live', 'Nachrichten, live')}</h2>
        <button type="button" onClick={() => stream.setPaused(!isPaused)}>
          {isPaused ? t('Resume', 'Fortsetzen') : t('Pause', 'Anhalten')}
        </button>
        <button type="button" onClick={() => stream.clear()}>
          {t('Clear', 'Leeren')}
        </button>
      </div>
      <p role="status" class="hint">
        {isPaused ? t('Paused', 'Angehalten') : streamStates()[stream.feed.state.value]}
      </p>
      {messages.length === 0 && (
        <p>
          {t(
            'Nothing has come since this page was opened.',
            'Seit dem Öffnen dieser Seite ist nichts gekommen.',
          )}
        </p>
      )}
      <ol class="plain home-messages">
        {messages.map((message) => (
          <MessageLine key={message.number} message={message} />
        ))}
      </ol>
    </section>
  );
}

function MessageLine({ message }: { readonly message: StreamedMessage }) {
  const { topic, retained, payload, shownAt } = message;
  const { receivedAt } = payload;
  const at = typeof receivedAt === 'string' ? receivedAt : shownAt;
  return (
    <li>
      <span class="row">
        <time dateTime={at}>{dateTime(at)}</time>
        <strong>{topic.split('/').slice(4).join('/')}</strong>
        {retained && <span class="hint">{t('retained', 'aufbewahrt')}</span>}
      </span>
      <pre class="home-json">{exactJson(contentOf(payload), 1)}</pre>
    </li>
  );
}

/** Every message repeats these; the page shows them once. */
const PLACE = new Set(['device', 'location', 'room', 'group', 'customData', 'receivedAt']);

function contentOf(payload: LiveMessage['payload']): unknown {
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !PLACE.has(name)));
}
