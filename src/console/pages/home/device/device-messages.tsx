import { useConsole, useWords } from '../../../console-parts.js';
import { exactJson } from '../../../request.js';
import { dateTime } from '../../../ui/time-ago.js';
import type { DeviceStream, StreamedMessage } from './device-stream.js';
import { DEVICE_WORDS } from './device-words.js';

/** A device's messages as they arrive. */
export function DeviceMessages({ stream }: { readonly stream: DeviceStream }) {
  const words = useWords(DEVICE_WORDS);
  const messages = stream.messages.value;
  const isPaused = stream.isPaused.value;
  return (
    <section aria-label={words.messages}>
      <div class="home-head">
        <h2>{words.messages}</h2>
        <div class="buttons">
          <button type="button" onClick={() => stream.setPaused(!isPaused)}>
            {isPaused ? words.resume : words.pause}
          </button>
          <button type="button" onClick={() => stream.clear()}>
            {words.clear}
          </button>
        </div>
      </div>
      <p role="status" class="hint">
        {isPaused ? words.paused : words.streams[stream.feed.state.value]}
      </p>
      {messages.length === 0 && <p>{words.noMessages}</p>}
      <ol class="home-messages">
        {messages.map((message) => (
          <MessageLine key={message.number} message={message} />
        ))}
      </ol>
    </section>
  );
}

function MessageLine({ message }: { readonly message: StreamedMessage }) {
  const { language } = useConsole();
  const words = useWords(DEVICE_WORDS);
  const { receivedAt } = message.payload;
  const at = typeof receivedAt === 'string' ? receivedAt : message.shownAt;
  return (
    <li>
      <span class="home-message-head">
        <time dateTime={at}>{dateTime(at, language.current.value)}</time>
        <strong>{message.topic.split('/').slice(4).join('/')}</strong>
        {message.retained && <span class="hint">{words.retained}</span>}
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
