import { effect, type ReadonlySignal, signal } from '@preact/signals';
import { type Location, listLocations } from '../../api.js';
import type { LiveFeed, LiveMessage } from '../../live.js';
import { type Failure, failureOf } from '../../request.js';
import {
  alarmOfMessage,
  changeOfMessage,
  escalationOfMessage,
  type OpenAlarm,
  type StateChange,
} from './open-alarm.js';
import { OpenAlarms } from './open-alarms.js';
import { readOpenAlarms } from './read-open-alarms.js';

/**
 * A burst is drawn a few times a second.
 *
 * Uses a timer instead of frames: a hidden tab has none, but its title still counts.
 */
const DRAW_EVERY_MS = 200;
/** The next drawing waits this many times as long as the last one took, so that a slow tablet stays usable. */
const PAUSE_FACTOR = 4;
const READ_AGAIN_MS = 3_000;
/** No message reports that a home was renamed or deleted. */
const READ_HOMES_MS = 5 * 60 * 1000;
/** The most alarms drawn: more cannot be read at a glance, and an old tablet cannot draw them. */
const MAX_ROWS = 200;
/** A screenful: in a burst every drawing replaces it, so the rest waits until the burst is over. */
const BURST_ROWS = 40;

/** The state of the board. */
interface BoardState {
  /** The most urgent first, and among equals the newest. */
  readonly alarms: readonly OpenAlarm[];
  /** How many of them to draw. */
  readonly maxRows: number;
  /** Whether too many arrive to point out any of them. */
  readonly isBurst: boolean;
  readonly notHeld: number;
  readonly isHistoryCut: boolean;
  readonly locations: readonly Location[];
  /** Whether the history has been read since alarms were last missed: before that, no alarms means nothing. */
  readonly isRead: boolean;
  readonly failure: Failure | undefined;
}

const NOTHING: BoardState = {
  alarms: [],
  maxRows: MAX_ROWS,
  isBurst: false,
  notHeld: 0,
  isHistoryCut: false,
  locations: [],
  isRead: false,
  failure: undefined,
};

interface BoardFeedOptions {
  readonly live: LiveFeed;
  /** Called immediately for each new alarm, even in a hidden tab. */
  readonly onNew: (alarm: OpenAlarm) => void;
}

/** Keeps the open alarms up to date: first from the history, then from the live feed. */
export class BoardFeed {
  readonly #options: BoardFeedOptions;
  readonly #alarms = new OpenAlarms();
  readonly #state = signal<BoardState>(NOTHING);
  readonly state: ReadonlySignal<BoardState> = this.#state;
  #mustRead = true;
  /** Receipt of the newest alarm held when the history had to be read: newer ones in the history were missed. */
  #newestMs = Number.POSITIVE_INFINITY;
  /** Homes of alarms that were missing from the list of homes and have been read for. */
  readonly #unknownHomes = new Set<string>();
  #reading: AbortController | undefined;
  #readTimer: ReturnType<typeof setTimeout> | undefined;
  #drawTimer: ReturnType<typeof setTimeout> | undefined;
  #drawnAtMs = 0;
  #drawingTookMs = 0;
  #newSinceDrawn = 0;

  constructor(options: BoardFeedOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it */
  start(): () => void {
    const { live } = this.#options;
    const endListening = live.listen({
      message: (message) => this.#received(message),
      missed: () => {
        this.#show({ isRead: false });
        this.readAgain();
      },
    });
    // Only once the live feed is open: otherwise alarms in between would be in neither.
    const endWatching = effect(() => {
      if (live.state.value === 'connected' && this.#mustRead) this.#read();
    });
    const homesTimer = setInterval(() => void this.#readHomes(), READ_HOMES_MS);
    return () => {
      clearInterval(homesTimer);
      endListening();
      endWatching();
      this.#reading?.abort();
      clearTimeout(this.#readTimer);
      clearTimeout(this.#drawTimer);
    };
  }

  /** Reads the history again as soon as the gateway is connected. */
  readAgain(): void {
    if (!this.#mustRead) this.#newestMs = this.#alarms.newestReceivedAtMs();
    this.#mustRead = true;
    if (this.#options.live.state.peek() === 'connected') this.#read();
  }

  /** Takes a state from the gateway's answer. */
  changed(change: StateChange): void {
    if (!this.#alarms.change(change)) return;
    this.#fill();
    this.#draw();
  }

  #received(message: LiveMessage): void {
    const { live, onNew } = this.#options;
    const alarm = alarmOfMessage(message, live.clock.now());
    if (alarm !== undefined) {
      this.#readUnknownHome(alarm.location.id);
      if (this.#alarms.add(alarm)) {
        this.#newSinceDrawn += 1;
        onNew(alarm);
      }
      this.#draw();
    }
    const change = changeOfMessage(message);
    if (change !== undefined) this.changed(change);
    const escalation = escalationOfMessage(message);
    if (escalation !== undefined && this.#alarms.escalated(escalation)) this.#draw();
  }

  /** Reads again for a home created since the last time; only once, as it may not be among those read. */
  #readUnknownHome(locationId: string): void {
    const isKnown = this.#state.peek().locations.some(({ id }) => id === locationId);
    if (isKnown || this.#mustRead || this.#unknownHomes.has(locationId)) return;
    this.#unknownHomes.add(locationId);
    this.readAgain();
  }

  /** Reads the names of the homes; if one is gone, reads the alarms again to drop its own. */
  async #readHomes(): Promise<void> {
    // The banner shows that the gateway does not answer; the timer tries again.
    const locations = await listLocations().catch(() => undefined);
    if (locations === undefined || this.#mustRead) return;
    const isThere = ({ id }: Location) => locations.some((one) => one.id === id);
    if (this.#state.peek().locations.every(isThere)) this.#show({ locations });
    else this.readAgain();
  }

  #fill(): void {
    const { alarms, notHeld, isHistoryCut } = this.#state.peek();
    const isShort = alarms.length < MAX_ROWS && (notHeld > 0 || isHistoryCut);
    if (isShort && !this.#mustRead) this.readAgain();
  }

  #read(): void {
    this.#reading?.abort();
    clearTimeout(this.#readTimer);
    const reading = new AbortController();
    this.#reading = reading;
    const before = this.#alarms.keys();
    this.#alarms.beginReading();
    readOpenAlarms(this.#alarms, reading.signal).then(
      ({ locations, readings }) => {
        if (reading.signal.aborted) return;
        this.#mustRead = false;
        this.#alarms.endReading(before, readings);
        this.#tellMissed();
        this.#show({ isRead: true, failure: undefined, locations });
      },
      (error: unknown) => {
        if (reading.signal.aborted) return;
        this.#show({ failure: failureOf(error) });
        this.#readTimer = setTimeout(() => this.readAgain(), READ_AGAIN_MS);
      },
    );
  }

  /** Announces alarms that arrived while no one was listening. */
  #tellMissed(): void {
    for (const alarm of this.#alarms.inOrder()) {
      if (alarm.receivedAtMs <= this.#newestMs || alarm.isLive) continue;
      this.#alarms.missed(alarm, this.#options.live.clock.now());
      this.#options.onNew(alarm);
    }
  }

  #draw(): void {
    if (this.#drawTimer !== undefined) return;
    const pauseMs = Math.max(DRAW_EVERY_MS, PAUSE_FACTOR * this.#drawingTookMs);
    const waitMs = Math.max(0, this.#drawnAtMs + pauseMs - performance.now());
    this.#drawTimer = setTimeout(() => this.#show({}), waitMs);
  }

  #show(change: Partial<BoardState>): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    this.#drawnAtMs = performance.now();
    const isBurst = this.#newSinceDrawn > BURST_ROWS;
    const maxRows = isBurst ? BURST_ROWS : MAX_ROWS;
    this.#newSinceDrawn = 0;
    const alarms = this.#alarms.inOrder();
    const { notHeld, isHistoryCut } = this.#alarms;
    const drawn = { alarms, maxRows, isBurst, notHeld, isHistoryCut };
    this.#state.value = { ...this.#state.peek(), ...drawn, ...change };
    if (isBurst) this.#draw();
    // Runs after the drawing, which takes its own turn.
    setTimeout(() => {
      this.#drawingTookMs = performance.now() - this.#drawnAtMs;
    });
  }
}
