// Preloaded into a gateway (`--import`): its clocks follow a file, read again at each SIGUSR2.
import { readFileSync } from 'node:fs';

const now = Date.now.bind(Date);
const elapsed = performance.now.bind(performance);
let ahead = { wallMs: 0, elapsedMs: 0 };

Date.now = () => now() + ahead.wallMs;
performance.now = () => elapsed() + ahead.elapsedMs;
process.on('SIGUSR2', () => {
  ahead = JSON.parse(readFileSync(process.env.MOVABLE_CLOCK_FILE, 'utf8'));
});
