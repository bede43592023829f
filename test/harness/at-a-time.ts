const AT_A_TIME = 32;

/** Makes so many of something, some of them at a time. */
export function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  return each(Array.from({ length: count }), make);
}

/** So many at a time: one after the other takes minutes, all at once is no load that a site sees. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  // Shared: each worker takes the next one.
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}
