import { type ReadonlySignal, signal } from '@preact/signals';
import { store, stored } from '../../../kept.js';

/** `blocked`: wanted, but the browser lets a page play sound only after a key or button is pressed. */
type SoundState = 'off' | 'on' | 'blocked';

interface Tone {
  readonly frequencyHz: number;
  readonly startS: number;
  readonly lengthS: number;
  readonly loudness?: number;
}

const STORED_AS = 'care-home-gateway.sound';
/** Events that unblock sound. A touch counts only once the finger lifts, as it may be the start of a scroll. */
const GESTURES = ['pointerdown', 'pointerup', 'keydown'] as const;
const LOUDNESS = 0.35;
/** Without it each tone would start and end with a click. */
const FADE_S = 0.02;

/** High and low in turn, twice. */
const ALARM_TONES: readonly Tone[] = [
  { frequencyHz: 880, startS: 0, lengthS: 0.22 },
  { frequencyHz: 660, startS: 0.24, lengthS: 0.22 },
  { frequencyHz: 880, startS: 0.6, lengthS: 0.22 },
  { frequencyHz: 660, startS: 0.84, lengthS: 0.22 },
];
/** Three rising tones, three times: louder, higher and longer than for any other alarm. */
const URGENT_TONES: readonly Tone[] = [0, 0.7, 1.4].flatMap((startS) =>
  [988, 1245, 1568].map((frequencyHz, index) => ({
    frequencyHz,
    startS: startS + 0.18 * index,
    lengthS: 0.17,
    loudness: 0.6,
  })),
);
/** One soft tone, for a test. */
const TEST_TONES: readonly Tone[] = [{ frequencyHz: 440, startS: 0, lengthS: 0.3, loudness: 0.12 }];
/** Three low tones, clearly different from an alarm. */
const LOST_TONES: readonly Tone[] = [
  { frequencyHz: 240, startS: 0, lengthS: 0.5 },
  { frequencyHz: 240, startS: 0.7, lengthS: 0.5 },
  { frequencyHz: 240, startS: 1.4, lengthS: 0.5 },
];

/** The sounds of the board, from oscillators. */
export class AlarmSound {
  readonly #state = signal<SoundState>('off');
  readonly state: ReadonlySignal<SoundState> = this.#state;
  #audio: AudioContext | undefined;

  /** Applies the choice made on this device. @returns a function that ends it */
  start(): () => void {
    const tryAgain = () => {
      if (this.#state.peek() === 'blocked') void this.#audio?.resume();
    };
    for (const gesture of GESTURES) addEventListener(gesture, tryAgain);
    if (stored('localStorage', STORED_AS) === 'on') this.#open();
    return () => {
      for (const gesture of GESTURES) removeEventListener(gesture, tryAgain);
      this.#close();
    };
  }

  switchOn(): void {
    store('localStorage', STORED_AS, 'on');
    this.#open();
    void this.#audio?.resume();
  }

  switchOff(): void {
    store('localStorage', STORED_AS, null);
    this.#close();
  }

  alarm(): void {
    this.#play(ALARM_TONES);
  }

  urgentAlarm(): void {
    this.#play(URGENT_TONES);
  }

  testAlarm(): void {
    this.#play(TEST_TONES);
  }

  lost(): void {
    this.#play(LOST_TONES);
  }

  #open(): void {
    if (this.#audio !== undefined) return;
    const audio = new AudioContext();
    this.#audio = audio;
    const show = () => {
      // A context that was switched off reports it a moment later.
      if (this.#audio !== audio) return;
      this.#state.value = audio.state === 'running' ? 'on' : 'blocked';
    };
    audio.addEventListener('statechange', show);
    show();
  }

  #close(): void {
    void this.#audio?.close();
    this.#audio = undefined;
    this.#state.value = 'off';
  }

  #play(tones: readonly Tone[]): void {
    const audio = this.#audio;
    // Blocked tones would all sound together once unblocked.
    if (audio?.state !== 'running') return;
    for (const { frequencyHz, startS, lengthS, loudness: peak = LOUDNESS } of tones) {
      const oscillator = new OscillatorNode(audio, { frequency: frequencyHz });
      const loudness = new GainNode(audio, { gain: 0 });
      const begin = audio.currentTime + startS;
      const end = begin + lengthS;
      loudness.gain.setValueAtTime(0, begin);
      loudness.gain.linearRampToValueAtTime(peak, begin + FADE_S);
      loudness.gain.setValueAtTime(peak, end - FADE_S);
      loudness.gain.linearRampToValueAtTime(0, end);
      oscillator.connect(loudness).connect(audio.destination);
      oscillator.start(begin);
      oscillator.stop(end);
    }
  }
}
