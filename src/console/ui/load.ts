/**
 * Reading from the gateway and changing it, as components do it: what was read belongs to its dependencies, an answer
 * that was overtaken is not shown, and a change is sent once.
 */

import { type FunctionComponent, h } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../language.js';
import { live } from '../live.js';
import { type Failure, failureOf } from '../request.js';

/** Data read from the gateway. */
export interface Loaded<Data> {
  /** The newest result; kept while the same data is read again. */
  readonly data: Data | undefined;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Reads again. */
  readonly again: () => void;
  /** Takes data from the gateway's answer to a change. */
  readonly take: (data: Data) => void;
  /** Stops the reading again by time; undefined if there is none. */
  readonly pause: Pause | undefined;
}

interface Pause {
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
}

/** When data is read again by itself. */
export interface ReadAgain {
  /** This long after the last answer, while the page is visible and not paused. */
  readonly everyMs?: number;
  /** This long after a failure. */
  readonly retryMs?: number;
  /** When the window gets the focus again: others may have changed it. */
  readonly onReturn?: boolean;
  /** When a message of this topic comes, and when messages were missed or the gateway is reached again. */
  readonly onTopic?: RegExp;
  /** How long it waits at least between two readings for messages; one that comes sooner is read for later. */
  readonly atMostEveryMs?: number;
}

/** For lists of what goes on in the gateway now. */
export const REFRESHED: ReadAgain = { everyMs: 5_000 };

interface Answer<Data> extends Pick<Loaded<Data>, 'data' | 'isPending' | 'failure'> {
  /** The reading that it belongs to; it differs after each change of the dependencies. */
  readonly of: (() => void) | undefined;
}

const NO_ANSWER = { data: undefined, isPending: true, failure: undefined, of: undefined };

/**
 * Reads data when a component is shown, and again when one of the dependencies changes.
 *
 * @param read may reject only with what the functions of `api.ts` throw
 */
export function useLoaded<Data>(
  read: () => Promise<Data>,
  dependencies: readonly unknown[],
  readAgain: ReadAgain = {},
): Loaded<Data> {
  const [answer, setAnswer] = useState<Answer<Data>>(NO_ANSWER);
  const [isPaused, setPaused] = useState(false);
  const newest = useRef(0);
  const again: () => void = useCallback(() => {
    newest.current += 1;
    const turn = newest.current;
    // An answer overtaken by a later request is not shown.
    const show = (change: Partial<Answer<Data>>) => {
      if (turn !== newest.current) return;
      setAnswer((last) => ({ ...(last.of === again ? last : NO_ANSWER), ...change, of: again }));
    };
    show({ isPending: true });
    read().then(
      (data) => show({ data, isPending: false, failure: undefined }),
      (error: unknown) => show({ isPending: false, failure: failureOf(error) }),
    );
  }, dependencies);
  const take = (data: Data) => {
    newest.current += 1;
    setAnswer({ data, isPending: false, failure: undefined, of: again });
  };
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again]);
  // Only data for these dependencies: rows of another home would look like rows of this one.
  const { data, isPending, failure } = answer.of === again ? answer : NO_ANSWER;
  const afterMs =
    failure === undefined ? readAgain.everyMs : (readAgain.retryMs ?? readAgain.everyMs);
  const everyMs = isPaused || isPending ? undefined : afterMs;
  useReadAgain(again, { ...readAgain, everyMs });
  const pause = readAgain.everyMs === undefined ? undefined : { isPaused, setPaused };
  return { data, isPending, failure, again, take, pause };
}

function useReadAgain(
  again: () => void,
  {
    everyMs,
    onReturn = false,
    onTopic,
    atMostEveryMs = 0,
  }: Omit<ReadAgain, 'everyMs'> & { everyMs: number | undefined },
): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, again]);
  useEffect(() => {
    if (!onReturn) return;
    addEventListener('focus', again);
    return () => removeEventListener('focus', again);
  }, [onReturn, again]);
  useEffect(() => {
    if (onTopic === undefined) return;
    let wasAway = live.state.peek() !== 'connected';
    let timer: ReturnType<typeof setTimeout> | undefined;
    let readAtMs = Number.NEGATIVE_INFINITY;
    const readSoon = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          readAtMs = performance.now();
          again();
        },
        readAtMs + atMostEveryMs - performance.now(),
      );
    };
    const ends = [
      () => clearTimeout(timer),
      live.listen({
        message: ({ topic }) => {
          if (onTopic.test(topic)) readSoon();
        },
        missed: again,
      }),
      live.state.subscribe((state) => {
        if (state === 'connected' && wasAway) again();
        wasAway = state !== 'connected';
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [onTopic?.source, atMostEveryMs, again]);
}

/** A change to send to the gateway. */
export interface Change {
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Sends it unless another is under way; `onDone` runs once the gateway has made it. */
  readonly send: <Result>(request: () => Promise<Result>, onDone: (result: Result) => void) => void;
}

/** Sends changes one at a time, and remembers why the last one failed. */
export function useChange(): Change {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const send: Change['send'] = (request, onDone) => {
    if (isPending) return;
    setPending(true);
    setFailure(undefined);
    request().then(
      (result) => {
        setPending(false);
        onDone(result);
      },
      (error: unknown) => {
        setPending(false);
        setFailure(failureOf(error));
      },
    );
  };
  return { isPending, failure, send };
}

/** The files of a page or part of it could not be loaded: the gateway does not answer, or an update replaced them. */
export class PageNotLoaded extends Error {
  constructor(cause: unknown) {
    super('The files of a page could not be loaded.', { cause });
    this.name = 'PageNotLoaded';
  }
}

/** A page, or a part of one, that loads when it is first shown. It throws `PageNotLoaded` while drawing. */
export function loadedLater(load: () => Promise<FunctionComponent>): FunctionComponent {
  let loaded: FunctionComponent | undefined;
  return function Later() {
    const [, drawAgain] = useState(0);
    const [error, setError] = useState<unknown>();
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then((component) => {
        loaded = component;
        drawAgain(1);
      }, setError);
    }, []);
    if (error !== undefined) throw new PageNotLoaded(error);
    if (loaded !== undefined) return h(loaded, {});
    return h('p', { role: 'status' }, t('Loading …', 'Wird geladen …'));
  };
}
