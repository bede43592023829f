import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf } from '../api/failure.js';

/** Data that is read from the gateway. */
export interface Loaded<Data> {
  /** The newest that was read; kept while it is read again. */
  readonly data: Data | undefined;
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Reads again. */
  readonly again: () => void;
}

/**
 * Reads data when a component is shown, and again when one of the dependencies changes.
 *
 * @param read must not reject with anything but what the API's client throws
 */
export function useLoaded<Data>(
  read: () => Promise<Data>,
  dependencies: readonly unknown[],
): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, 'again'>>({
    data: undefined,
    isPending: true,
    failure: undefined,
  });
  const newest = useRef(0);
  const again = useCallback(() => {
    newest.current += 1;
    const turn = newest.current;
    // An answer that was overtaken by a later question is not shown.
    const show = (change: Partial<Omit<Loaded<Data>, 'again'>>) => {
      if (turn === newest.current) setState((before) => ({ ...before, ...change }));
    };
    show({ isPending: true });
    read().then(
      (data) => show({ data, isPending: false, failure: undefined }),
      (error: unknown) => show({ isPending: false, failure: failureOf(error) }),
    );
  }, dependencies);
  useEffect(() => {
    again();
    return () => {
      newest.current += 1;
    };
  }, [again]);
  return { ...state, again };
}

/** A change that is sent to the gateway. */
export interface Change {
  readonly isPending: boolean;
  readonly failure: Failure | undefined;
  /** Sends it; `onDone` runs when the gateway has made it. */
  readonly send: <Result>(request: () => Promise<Result>, onDone: (result: Result) => void) => void;
}

/** Sends changes one at a time, and keeps why the last one failed. */
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
