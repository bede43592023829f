import { type AcknowledgementType, encodeAcknowledgement } from './packet-encoder.js';

interface Slot {
  readonly type: AcknowledgementType;
  readonly packetIdentifier: number;
  isStored: boolean;
}

/**
 * Acknowledges a client's publishes in the order in which they came [MQTT-4.6.0-2],
 * [MQTT-4.6.0-3].
 */
export class Acknowledgements {
  readonly #write: (bytes: Buffer) => void;
  #slots: Slot[] = [];
  #firstAt = 0;
  #whenEmpty: (() => void) | undefined;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Adds a publish; call the returned function once the publish is stored. */
  add(type: AcknowledgementType, packetIdentifier: number): () => void {
    const slot = { type, packetIdentifier, isStored: false };
    this.#slots.push(slot);
    return () => {
      slot.isStored = true;
      if (slot === this.#slots[this.#firstAt]) this.#flush();
    };
  }

  /** Calls back once every publish is acknowledged, which may be now. */
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
