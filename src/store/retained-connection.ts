import type { Keys } from './keys.js';
import type { Store } from './store.js';

/** The calls that aedes-persistence-redis makes for retained messages. */
export interface RetainedConnection {
  hset(name: string, topic: string, packet: Buffer): Promise<unknown>;
  hdel(name: string, topic: string): Promise<unknown>;
  hgetBuffer(name: string, topic: string): Promise<Buffer | null>;
}

/** Looks like a connection to the library, but its calls go through the store's door. */
export function retainedConnection(store: Store, keys: Keys): RetainedConnection {
  const keyOf = (name: string) => keys.brokerPrefix + name;
  return {
    hset: (name, topic, packet) => store.write(['HSET', keyOf(name), topic, packet]),
    hdel: (name, topic) => store.write(['HDEL', keyOf(name), topic]),
    hgetBuffer: (name, topic) => store.read((redis) => redis.hgetBuffer(keyOf(name), topic)),
  };
}
