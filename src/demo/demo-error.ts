/** Why the demo cannot go on, in words for whoever watches it. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

/** What the promise comes to, or a DemoError with `detail` when that takes too long. */
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

/** What the promise comes to, or the signal's reason as soon as it is aborted. */
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
