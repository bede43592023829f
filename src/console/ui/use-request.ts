import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
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
}

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
): Loaded<Data> {
  const [answer, setAnswer] = useState<Answer<Data>>(NO_ANSWER);
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
  return { data, isPending, failure, again, take };
}

/** A change to send to the gateway. */
interface Change {
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
