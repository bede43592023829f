import { type AcknowledgementType, encodeAcknowledgement } from './packet-encoder.js';

interface Slot {
  readonly type: AcknowledgementType;
  readonly packetIdentifier: number;
  isStored: boolean;
}

/**
 * The acknowledgements that a client is owed for its publishes, in the order in which these came
 * [MQTT-4.6.0-2], [MQTT-4.6.0-3].
 */
export class Acknowledgements {
  readonly #write: (bytes: Buffer) => void;
  #slots: Slot[] = [];
  #firstAt = 0;
  #whenEmpty: (() => void) | undefined;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** A publish has come. The returned function is to be called once it is stored. */
  add(type: AcknowledgementType, packetIdentifier: number): () => void {
    const slot = { type, packetIdentifier, isStored: false };
    this.#slots.push(slot);
    return () => {
      slot.isStored = true;
      if (slot === this.#slots[this.#firstAt]) this.#flush();
    };
  }

  /** Calls back once nothing is owed any more; at once if so. */
  whenEmpty(callback: () => void): void {
    if (this.#firstAt === this.#slots.length) callback();
    else this.#whenEmpty = callback;
  }

  #flush(): void {
    let slot = this.#slots[this.#firstAt];
    while (slot?.isStored === true) {
      this.#write(encodeAcknowledgement(slot.type, slot.packetIdentifier));
      this.#firstAt++;
      slot = this.#slots[this.#firstAt];
    }
    if (slot !== undefined) return;
    this.#slots = [];
    this.#firstAt = 0;
    this.#whenEmpty?.();
    this.#whenEmpty = undefined;
  }
}
