import { useEffect, useRef, useState } from 'preact/hooks';
import { listLocations, listRejectedPublishes, type RejectedPublish } from '../../../api.js';
import { useWords } from '../../../console-parts.js';
import { type Failure, failureOf } from '../../../request.js';
import { TimeAgo } from '../../../ui/time-ago.js';
import { GATEWAY_WORDS } from '../gateway-words.js';
import { type Column, List } from '../list.js';
import { LocationSelect } from '../location-select.js';
import { PrincipalName } from '../names.js';
import { textOfBase64 } from '../payload.js';
import { OVERVIEW_WORDS } from './overview-words.js';

/** The page never shows more. */
const MAX_SHOWN = 500;

interface Read {
  readonly publishes: readonly RejectedPublish[];
  readonly homes: number;
  readonly allHomes: number;
  readonly failure: Failure | undefined;
}

/** Publishes that could not be used, read home by home on request. */
export function RejectedList() {
  const words = useWords(OVERVIEW_WORDS);
  const common = useWords(GATEWAY_WORDS);
  const [locationId, setLocationId] = useState('');
  const { read, start, forget } = useRejected(locationId);
  const isReading = read !== undefined && read.homes < read.allHomes && !read.failure;
  const shown = read?.publishes.slice(0, MAX_SHOWN);
  const columns: readonly Column<RejectedPublish>[] = [
    { head: words.received, cell: ({ receivedAt }) => <TimeAgo at={receivedAt} /> },
    { head: common.device, cell: ({ deviceId }) => <PrincipalName type="device" id={deviceId} /> },
    { head: common.reason, cell: ({ reason }) => words.reasons[reason] ?? reason },
    { head: common.topic, cell: ({ topic }) => <code class="gateway-id">{topic}</code> },
    {
      head: common.payload,
      cell: ({ base64 }) => <code class="gateway-payload">{textOfBase64(base64)}</code>,
    },
  ];
  return (
    <List
      title={words.rejected}
      hint={words.rejectedHint}
      loaded={{ failure: read?.failure, again: start, isPending: isReading }}
      rows={read === undefined ? [] : shown}
      keyOf={({ deviceId, receivedAt, topic, base64 }) => deviceId + receivedAt + topic + base64}
      columns={columns}
      empty={read === undefined || isReading ? '' : words.noneRejected}
      tools={
        <>
          <LocationSelect
            value={locationId}
            onChange={(id) => {
              setLocationId(id);
              forget();
            }}
          />
          <button
            type="button"
            aria-disabled={isReading}
            onClick={() => {
              if (!isReading) start();
            }}
          >
            {words.show}
          </button>
        </>
      }
      foot={
        read !== undefined && (
          <p role="status">
            {isReading
              ? words.reading(read.homes, read.allHomes)
              : words.count(read.publishes.length)}{' '}
            {read.publishes.length > MAX_SHOWN && words.newest(MAX_SHOWN, read.publishes.length)}
          </p>
        )
      }
    />
  );
}

/** Reads the rejected publishes of one home, or of all homes one after the other. */
function useRejected(locationId: string) {
  const [read, setRead] = useState<Read>();
  const turn = useRef(0);
  const overtake = () => {
    turn.current += 1;
  };
  useEffect(() => overtake, []);
  const start = async () => {
    overtake();
    const own = turn.current;
    for await (const result of readRejected(locationId)) {
      // Another home was chosen, or the page was left.
      if (turn.current !== own) return;
      setRead(result);
    }
  };
  const forget = () => {
    overtake();
    setRead(undefined);
  };
  return { read, start: () => void start(), forget };
}

/** Yields the result so far after each home; a failure ends it. */
async function* readRejected(locationId: string): AsyncGenerator<Read> {
  let result: Read = { publishes: [], homes: 0, allHomes: 1, failure: undefined };
  yield result;
  try {
    const homes = locationId === '' ? (await listLocations()).map(({ id }) => id) : [locationId];
    result = { ...result, allHomes: homes.length };
    yield result;
    for (const home of homes) {
      const more = await listRejectedPublishes({ locationId: home });
      const publishes = [...result.publishes, ...more].sort((one, other) =>
        other.receivedAt.localeCompare(one.receivedAt),
      );
      result = { ...result, publishes, homes: result.homes + 1 };
      yield result;
    }
  } catch (error) {
    yield { ...result, failure: failureOf(error) };
  }
}
