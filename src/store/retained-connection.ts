import type { Keys } from './keys.js';
import type { Store } from './store.js';

/** Looks like a connection to aedes-persistence-redis, but its calls go through the store's door. */
export function retainedConnection(store: Store, keys: Keys) {
  const keyOf = (name: string) => keys.brokerPrefix + name;
  return {
    hset: (name: string, topic: string, packet: Buffer) =>
      store.write(['HSET', keyOf(name), topic, packet]),
    hdel: (name: string, topic: string) => store.write(['HDEL', keyOf(name), topic]),
    hgetBuffer: (name: string, topic: string) =>
      store.read((redis) => redis.hgetBuffer(keyOf(name), topic)),
  };
}
