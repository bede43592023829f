// Preloaded into a gateway (`--import`): its clocks follow a file, read again at each SIGUSR2, and intervals of a
// second or more run ten times as often, and at least twice a second, even those of an hour.
import { readFileSync } from 'node:fs';

const [HURRIED_FROM_MS, TIMES_AS_OFTEN, MAX_HURRIED_MS] = [1_000, 10, 500];
const now = Date.now.bind(Date);
const elapsed = performance.now.bind(performance);
const interval = globalThis.setInterval;
let ahead = { wallMs: 0, elapsedMs: 0 };

Date.now = () => now() + ahead.wallMs;
performance.now = () => elapsed() + ahead.elapsedMs;
globalThis.setInterval = (work, ms, ...values) =>
  interval(
    work,
    ms >= HURRIED_FROM_MS ? Math.min(ms / TIMES_AS_OFTEN, MAX_HURRIED_MS) : ms,
    ...values,
  );
process.on('SIGUSR2', () => {
  ahead = JSON.parse(readFileSync(process.env.MOVED_CLOCK_FILE, 'utf8'));
});
