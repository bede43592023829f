import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';
import type { OwnRedis } from '../../test/chaos/faults/own-redis.js';
import { BusyHome, type HomeLoad, siteOf } from './busy-home.js';

const SCAN_COUNT = 1_000;

/** One command of a gateway, as its store received it. */
export interface RecordedCommand {
  readonly atMs: number;
  /** The gateway's connection that it came on, from 0. */
  readonly connection: number;
  readonly name: string;
  readonly args: readonly NamedBytes[];
}

/** A key as DUMP returns it. */
export interface RecordedKey {
  readonly key: NamedBytes;
  readonly dump: NamedBytes;
}

/** What the gateway of a busy home sends to its store, for replay as other homes. */
export interface RecordedHome {
  /** The store of the home before the first command. */
  readonly keys: readonly RecordedKey[];
  readonly commands: readonly RecordedCommand[];
  readonly connections: number;
}

/** Bytes in which the site of the recorded home can be replaced by another with a name of the same length. */
export class NamedBytes {
  readonly #bytes: Buffer;
  readonly #at: readonly number[];

  constructor(bytes: Buffer, name: string) {
    this.#bytes = bytes;
    const found: number[] = [];
    for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) found.push(at);
    this.#at = found;
  }

  of(name: string): Buffer {
    if (this.#at.length === 0) return this.#bytes;
    const own = Buffer.from(this.#bytes);
    for (const at of this.#at) own.write(name, at, 'latin1');
    return own;
  }
}

/** Runs a busy home on the empty store and records it. */
export async function recordHome(store: OwnRedis, load: HomeLoad): Promise<RecordedHome> {
  const home = await BusyHome.open(store.url, 0, load);
  const monitor = await Monitor.open(store.port);
  const keys = await keysOf(store.redis);
  // Nothing happens in the home yet: commands that came during the reading have changed none of its keys.
  monitor.begin();
  await home.run(load);
  const commands = monitor.end();
  await home.close();
  await store.redis.flushall();
  const connections = 1 + Math.max(...commands.map(({ connection }) => connection));
  return { keys, commands, connections };
}

async function keysOf(redis: Redis): Promise<RecordedKey[]> {
  const found: RecordedKey[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scanBuffer(cursor, 'COUNT', SCAN_COUNT);
    cursor = next.toString();
    for (const key of keys) {
      const dump = await redis.dumpBuffer(key);
      if (dump !== null) found.push({ key: named(key), dump: named(dump) });
    }
  } while (cursor !== '0');
  return found;
}

function named(bytes: Buffer): NamedBytes {
  return new NamedBytes(bytes, siteOf(0));
}

/** Commands that a store has received, as MONITOR reports them. */
class Monitor {
  readonly #socket: Socket;
  readonly #connections = new Map<string, number>();
  #commands: RecordedCommand[] = [];
  #begunMs = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const lines = createInterface({ input: socket });
    lines.on('line', (line) => this.#take(line));
    lines.on('error', () => undefined);
  }

  static async open(port: number): Promise<Monitor> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('MONITOR\r\n');
    await once(socket, 'data');
    return new Monitor(socket);
  }

  begin(): void {
    this.#commands = [];
    this.#begunMs = Date.now();
  }

  end(): readonly RecordedCommand[] {
    this.#socket.destroy();
    return this.#commands;
  }

  /** Takes `+<seconds> [<database> <address>] "<command>" "<argument>" …`. */
  #take(line: string): void {
    const [, seconds, source] = /^\+([\d.]+) \[\d+ (\S+)\]/.exec(line) ?? [];
    // The calls of a script are part of the script.
    if (seconds === undefined || source === undefined || source === 'lua') return;
    const [name, ...args] = Array.from(line.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text = '']) =>
      unescaped(text),
    );
    if (name === undefined) return;
    const connection = this.#connections.get(source) ?? this.#connections.size;
    this.#connections.set(source, connection);
    this.#commands.push({
      atMs: Number(seconds) * 1_000 - this.#begunMs,
      connection,
      name: name.toString(),
      args: args.map(named),
    });
  }
}

const CONTROL_CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['a', '\x07'],
  ['b', '\b'],
]);

/** Undoes `sdscatrepr` of Redis. */
function unescaped(text: string): Buffer {
  const plain = text.replace(/\\(x[0-9a-f]{2}|.)/g, (_, code: string) =>
    code.length > 1
      ? String.fromCharCode(Number.parseInt(code.slice(1), 16))
      : (CONTROL_CHARACTERS.get(code) ?? code),
  );
  return Buffer.from(plain, 'latin1');
}
