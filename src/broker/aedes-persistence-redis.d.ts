/** aedes-persistence-redis 12 has no types (dependency-faults.md, 20); this is the part we use. */
declare module 'aedes-persistence-redis' {
  import type { Readable } from 'node:stream';

  interface StoredPacket {
    cmd: 'publish';
    topic: string;
    payload: Buffer;
    qos: 0 | 1 | 2;
    retain: boolean;
    dup: boolean;
    brokerId?: string;
    brokerCounter?: number;
    messageId?: number;
    clientId?: string;
  }

  interface ClientRef {
    id: string;
    brokerId?: string;
  }

  export interface RedisPersistence {
    setup(broker: object): Promise<void>;
    destroy(): Promise<void>;
    /** Stores the packet with all of its fields. */
    storeRetained(packet: StoredPacket & { groupId: string | null }): Promise<void>;
    createRetainedStreamCombi(filters: string[]): Readable;
    incomingStorePacket(client: ClientRef, packet: object): Promise<void>;
    incomingGetPacket(client: ClientRef, packet: object): Promise<object>;
    incomingDelPacket(client: ClientRef, packet: object): Promise<void>;
    cleanIncoming(client: ClientRef): Promise<void>;
    putWill(client: ClientRef, packet: object): Promise<void>;
    getWill(client: ClientRef): Promise<unknown>;
    delWill(client: ClientRef): Promise<unknown>;
    streamWill(brokers: object): Readable;
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
