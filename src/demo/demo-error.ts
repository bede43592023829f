/** The reason why the demo cannot go on, in words for its viewer. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

/** Resolves as the promise does, or rejects with a DemoError at the timeout. */
export async function within<T>(
  promise: Promise<T>,
  deadlineMs: number,
  detail: string,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DemoError(detail)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves as the promise does, or rejects with the signal's reason once aborted. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const settled = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const options = { once: true, signal: settled.signal };
    signal.addEventListener('abort', () => reject(signal.reason), options);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    settled.abort();
  }
}
