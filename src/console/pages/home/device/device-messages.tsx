import { dateTime, t } from '../../../language.js';
import { exactJson } from '../../../request.js';
import type { DeviceStream, StreamedMessage } from './device-stream.js';

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

/** A device's messages as they arrive. */
export function DeviceMessages({ stream }: { readonly stream: DeviceStream }) {
  const messages = stream.messages.value;
  const isPaused = stream.isPaused.value;
  return (
    <section aria-label={t('Messages, live', 'Nachrichten, live')}>
      <div class="home-head">
        <h2>{t('Messages, live', 'Nachrichten, live')}</h2>
        <div class="buttons">
          <button type="button" onClick={() => stream.setPaused(!isPaused)}>
            {isPaused ? t('Go on', 'Fortfahren') : t('Pause', 'Anhalten')}
          </button>
          <button type="button" onClick={() => stream.clear()}>
            {t('Clear', 'Leeren')}
          </button>
        </div>
      </div>
      <p role="status" class="hint">
        {isPaused ? t('Paused.', 'Angehalten.') : streamStates()[stream.feed.state.value]}
      </p>
      {messages.length === 0 && (
        <p>
          {t(
            'Nothing has come since this page was opened.',
            'Seit dem Öffnen dieser Seite ist nichts gekommen.',
          )}
        </p>
      )}
      <ol class="home-messages">
        {messages.map((message) => (
          <MessageLine key={message.number} message={message} />
        ))}
      </ol>
    </section>
  );
}

function MessageLine({ message }: { readonly message: StreamedMessage }) {
  const { receivedAt } = message.payload;
  const at = typeof receivedAt === 'string' ? receivedAt : message.shownAt;
  return (
    <li>
      <span class="home-message-head">
        <time dateTime={at}>{dateTime(at)}</time>
        <strong>{message.topic.split('/').slice(4).join('/')}</strong>
        {message.retained && <span class="hint">{t('retained', 'aufbewahrt')}</span>}
      </span>
      <pre class="home-json">{exactJson(contentOf(message.payload), 1)}</pre>
    </li>
  );
}

/** Every message repeats these; the page shows them once. */
const PLACE = new Set(['device', 'location', 'room', 'group', 'customData', 'receivedAt']);

function contentOf(payload: StreamedMessage['payload']): unknown {
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !PLACE.has(name)));
}
