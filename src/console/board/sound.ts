/** Plays the sounds of alarms: the tones, the bell that repeats them, and the rules that say when it rings. */

import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { store, stored } from '../kept.js';
import { live } from '../live.js';
import { pageOf, place } from '../place.js';
import { type OpenAlarm, urgencyOf } from './alarm.js';
import { resolving } from './changes.js';
import { chosenHomeId, openAlarms } from './open-alarms.js';

/** `blocked`: wanted, but the browser has no sound, or lets a page play it only after a key or button is pressed. */
type SoundState = 'off' | 'on' | 'blocked';

interface Tune {
  readonly loudness: number;
  readonly tones: readonly (readonly [hz: number, startS: number, lengthS: number])[];
}

const TUNES = {
  /** Three rising tones, three times: louder, higher and longer than for any other alarm. */
  urgent: {
    loudness: 0.6,
    tones: [0, 0.7, 1.4].flatMap((startS) =>
      [988, 1245, 1568].map((hz, index) => [hz, startS + 0.18 * index, 0.17] as const),
    ),
  },
  /** High and low in turn, twice. */
  raised: {
    loudness: 0.35,
    tones: [
      [880, 0, 0.22],
      [660, 0.24, 0.22],
      [880, 0.6, 0.22],
      [660, 0.84, 0.22],
    ],
  },
  /** One soft tone. */
  test: { loudness: 0.12, tones: [[440, 0, 0.3]] },
  /** Three low tones, clearly different from an alarm. */
  lost: {
    loudness: 0.35,
    tones: [
      [240, 0, 0.5],
      [240, 0.7, 0.5],
      [240, 1.4, 0.5],
    ],
  },
} as const satisfies Record<string, Tune>;

const STORED_AS = 'care-home-gateway.sound';
/** Events that unblock sound. A touch counts only once the finger lifts, as it may be the start of a scroll. */
const GESTURES = ['pointerdown', 'pointerup', 'keydown'] as const;
/** Without it each tone would start and end with a click. */
const FADE_S = 0.02;

class Sound {
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

  play(name: keyof typeof TUNES): void {
    const audio = this.#audio;
    // Blocked tones would all sound together once unblocked.
    if (audio?.state !== 'running') return;
    const { tones, loudness } = TUNES[name];
    for (const [frequency, startS, lengthS] of tones) {
      const oscillator = new OscillatorNode(audio, { frequency });
      const volume = new GainNode(audio, { gain: 0 });
      const begin = audio.currentTime + startS;
      const end = begin + lengthS;
      volume.gain.setValueAtTime(0, begin);
      volume.gain.linearRampToValueAtTime(loudness, begin + FADE_S);
      volume.gain.setValueAtTime(loudness, end - FADE_S);
      volume.gain.linearRampToValueAtTime(0, end);
      oscillator.connect(volume).connect(audio.destination);
      oscillator.start(begin);
      oscillator.stop(end);
    }
  }

  #open(): void {
    if (this.#audio !== undefined) return;
    const audio = newAudio();
    if (audio === undefined) {
      this.#state.value = 'blocked';
      return;
    }
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
}

/** Undefined in a browser that has none, or no device for it. */
function newAudio(): AudioContext | undefined {
  try {
    return new AudioContext();
  } catch {
    return undefined;
  }
}

export const sound = new Sound();

/** While an alarm waits for someone, or the gateway is not connected. */
const REPEAT_MS = 20_000;
/** While someone may be lying on the floor. */
const REPEAT_URGENT_MS = 10_000;
/** A burst of alarms sounds once; an alarm at the end of an outage must not seem part of the outage's sound. */
const PAUSE_MS = 2_500;

/** The worst current condition. */
type Ringing = 'urgent' | 'raised' | 'lost' | 'nothing';

/** Sounds immediately for a new condition, and repeats while it lasts. */
class Bell {
  #ringing: Ringing = 'nothing';
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #rangAtMs = { urgent: Number.NEGATIVE_INFINITY, raised: Number.NEGATIVE_INFINITY };

  /** Sets the condition to sound for from now on. */
  set(ringing: Ringing): void {
    if (ringing === this.#ringing) return;
    const begins = ringing === 'lost' || this.#ringing === 'nothing';
    this.#ringing = ringing;
    if (begins && ringing !== 'nothing') this.#ring();
  }

  /** Sounds for a new alarm; for a fall immediately, even if another alarm has just sounded. */
  newAlarm(urgency: 'urgent' | 'raised' | 'test'): void {
    if (urgency === 'test') {
      if (this.#ringing === 'nothing') sound.play('test');
      return;
    }
    if (this.#ringing !== 'urgent') this.#ringing = urgency;
    const { urgent, raised } = this.#rangAtMs;
    const rangAtMs = urgency === 'urgent' ? urgent : Math.max(urgent, raised);
    if (performance.now() - rangAtMs >= PAUSE_MS) this.#ring();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#ringing = 'nothing';
  }

  #ring(): void {
    clearTimeout(this.#timer);
    const ringing = this.#ringing;
    if (ringing === 'nothing') return;
    const repeatMs = ringing === 'urgent' ? REPEAT_URGENT_MS : REPEAT_MS;
    this.#timer = setTimeout(() => this.#ring(), repeatMs);
    sound.play(ringing);
    if (ringing !== 'lost') this.#rangAtMs[ringing] = performance.now();
  }
}

/** Sounds for a screen on which no alarms appear. @returns a function that ends it */
export function ringForLost(): () => void {
  const bell = new Bell();
  const end = sound.start();
  bell.set('lost');
  return () => {
    bell.stop();
    end();
  };
}

/** The sound of an alarm stops after an hour: by then it no longer helps anyone. */
const SOUNDS_FOR_MS = 60 * 60_000;
/** How often it checks whether an alarm has sounded for too long; also the interval of a wall's clock. */
const TICK_MS = 2_000;

/** The gateway's time, which goes on every few seconds. */
export const nowMs = signal(live.clock.now());

/** Whether an alarm is unacknowledged, and recent enough to sound. */
export function isWaiting(alarm: OpenAlarm): boolean {
  const urgency = urgencyOf(alarm);
  const isRaised = urgency === 'urgent' || urgency === 'raised';
  return isRaised && nowMs.value - alarm.knownAtMs < SOUNDS_FOR_MS;
}

/** Whether the page that is open shows the alarm: the board may show a single home. */
export function isOnPage({ location }: OpenAlarm): boolean {
  const homeId = pageOf(place.value.path) === '' ? chosenHomeId.value : undefined;
  return homeId === undefined || homeId === location.id;
}

/** Rings for the open alarms. @returns a function that ends it */
export function ringForAlarms(): () => void {
  const bell = new Bell();
  const tick = () => {
    nowMs.value = live.clock.now();
  };
  const timer = setInterval(tick, TICK_MS);
  const ends = [
    sound.start(),
    openAlarms.onNew((alarm) => {
      tick();
      const urgency = urgencyOf(alarm);
      const isHeard = urgency !== 'test' || pageOf(place.peek().path) === '';
      if (isHeard && urgency !== 'acknowledged' && isOnPage(alarm)) bell.newAlarm(urgency);
    }),
    effect(() => {
      const waiting = openAlarms.shown.value.filter(
        (alarm) => isWaiting(alarm) && isOnPage(alarm) && !resolving.value.has(alarm.key),
      );
      const isUrgent = waiting.some((alarm) => urgencyOf(alarm) === 'urgent');
      const rings = waiting.length === 0 ? 'nothing' : isUrgent ? 'urgent' : 'raised';
      bell.set(live.state.value === 'lost' ? 'lost' : rings);
    }),
    () => bell.stop(),
  ];
  return () => {
    clearInterval(timer);
    for (const end of ends) end();
  };
}
