/** aedes-persistence-redis 12 has no types (dependency-faults.md, 15); this is the part we use. */
declare module 'aedes-persistence-redis' {
  import type { Readable } from 'node:stream';

  interface StoredPacket {
    cmd: 'publish';
    topic: string;
    payload: Buffer;
    qos: 0 | 1 | 2;
    retain: boolean;
    dup: boolean;
    groupId: string | null;
  }

  export interface RedisPersistence {
    /** Stores the packet with all of its fields. */
    storeRetained(packet: StoredPacket): Promise<void>;
    createRetainedStreamCombi(filters: string[]): Readable;
  }

  /** The calls it makes for retained messages. */
  export interface RetainedConnection {
    hset(key: string, topic: string, packet: Buffer): Promise<unknown>;
    hdel(key: string, topic: string): Promise<unknown>;
    hgetBuffer(key: string, topic: string): Promise<Buffer | null>;
  }

  export default function createPersistence(options: {
    conn: RetainedConnection;
  }): RedisPersistence;
}
