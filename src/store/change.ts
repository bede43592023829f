import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type Failure, GatewayError } from '../errors.js';
import { answering } from './failures.js';
import { Script } from './scripts.js';

const applyChange = new Script('apply-change', z.string());

type Command = 'HSET' | 'DEL' | 'SADD' | 'SREM' | 'HDEL' | 'SDIFFSTORE';

/** A record of the audit trail as written (audit/records.ts). */
export interface ChangeRecord {
  /** Key of the sorted set that holds it, by time. */
  readonly index: string;
  /** Key of the counter that numbers the records. */
  readonly sequence: string;
  readonly atMs: number;
  readonly text: string;
  /** The fields whose former values are recorded: name, key and field of each. */
  readonly before: readonly (readonly [name: string, key: string, field: string])[];
}

/** The store that a change is applied to. */
export interface ChangeTarget {
  readonly redis: Redis;
  /** Called when the store gave no answer: the change may have been made, or be made yet. */
  readonly onUnknownOutcome: () => void;
}

/** One atomic change of the site: conditions that must hold, then writes (apply-change.lua). */
export class Change {
  readonly #keys: string[] = [];
  readonly #failures: Failure[] = [];
  readonly #checks: (string | number)[][] = [];
  readonly #writes: (string | number)[][] = [];
  readonly #records: unknown[][] = [];

  /** Requires a condition; the change fails with the first one that does not hold. */
  require(condition: 'exists' | 'absent' | 'empty', key: string, failure: Failure): this {
    this.#checks.push([condition, this.#number(key), this.#failure(failure)]);
    return this;
  }

  requireField(key: string, field: string, value: string, failure: Failure): this {
    this.#checks.push(['field', this.#number(key), this.#failure(failure), field, value]);
    return this;
  }

  requireNoField(key: string, field: string, failure: Failure): this {
    this.#checks.push(['noField', this.#number(key), this.#failure(failure), field]);
    return this;
  }

  write(command: Command, key: string, ...args: readonly (string | number)[]): this {
    return this.#write(command, key, args);
  }

  /** Removes the member from the set that a field of the record names, if any. */
  leave(record: string, field: string, setPrefix: string, member: string): this {
    return this.#write('LEAVE', record, [field, setPrefix, member]);
  }

  /** Deletes the key of this prefix for every member of the set. */
  deleteEach(set: string, prefix: string): this {
    return this.#write('DELEACH', set, [prefix]);
  }

  /** Writes the audit record atomically with the change. */
  record({ index, sequence, atMs, text, before }: ChangeRecord): this {
    const old = before.map(([name, key, field]) => [name, this.#number(key), field]);
    const [indexNumber, sequenceNumber] = [this.#number(index), this.#number(sequence)];
    this.#records.push([indexNumber, sequenceNumber, String(atMs), text, old]);
    return this;
  }

  /** @throws GatewayError the failure of the first check that does not hold, `store-unavailable` */
  async apply({ redis, onUnknownOutcome }: ChangeTarget): Promise<void> {
    const text = JSON.stringify({
      checks: this.#checks,
      records: this.#records,
      writes: this.#writes,
    });
    const code = await answering(() => applyChange.run(redis, this.#keys, [text])).catch(
      (error: unknown) => {
        onUnknownOutcome();
        throw error;
      },
    );
    if (code === 'ok') return;
    const failure = this.#failures[Number(code)];
    if (failure === undefined) throw new GatewayError('internal-error', 'Unknown failed check.');
    throw GatewayError.of(failure);
  }

  #write(command: string, key: string, args: readonly (string | number)[]): this {
    this.#writes.push([command, this.#number(key), ...args.map(String)]);
    return this;
  }

  /** The key's position in KEYS, as Lua counts. */
  #number(key: string): number {
    const index = this.#keys.indexOf(key);
    if (index >= 0) return index + 1;
    return this.#keys.push(key);
  }

  /** Returns the failure's name in the script: its index here. */
  #failure(failure: Failure): string {
    return String(this.#failures.push(failure) - 1);
  }
}
