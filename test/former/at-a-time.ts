const AT_A_TIME = 32;

/** Makes this many of something, a few at a time. */
export function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  return each(Array.from({ length: count }), make);
}

/** A few at a time: one by one takes minutes, and all at once is a load that no site sees. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  // The workers share it: each takes the next item.
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}
