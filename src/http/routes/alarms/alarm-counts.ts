import { createRoute } from '@hono/zod-openapi';
import { calendarBounds } from '../../../domain/calendar.js';
import { formatTime } from '../../../domain/time.js';
import { alarmFilter } from '../../alarms/alarm-page.js';
import type { RouteServices } from '../../dependencies.js';
import { jsonResponse } from '../../documents/openapi.js';
import type { HttpApp } from '../../http-env.js';
import { invalidRequest } from '../../problem.js';
import {
  alarmCountsQuerySchema,
  alarmCountsSchema,
  MAX_BUCKETS,
} from '../../schemas/alarm-counts.js';
import { locationPathSchema } from '../../schemas/common.js';

const HOUR_MS = 3_600_000;
const DEFAULT_SPAN_MS = { hour: 24 * HOUR_MS, day: 30 * 24 * HOUR_MS };

const counts = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarm-counts',
  operationId: 'countAlarms',
  summary: 'Count the alarms of a location by hour or day',
  description:
    'By the clocks of a time zone: the day on which they change has 23 or 25 hours. `start` is the beginning of the hour or day; the first and the last one have only what lies between `after` and `before`.',
  tags: ['Alarms'],
  request: { params: locationPathSchema, query: alarmCountsQuerySchema },
  responses: { 200: jsonResponse('The numbers of alarms.', alarmCountsSchema) },
});

/** Numbers of alarms, for charts and statistics (docs/reference/contract.md, 2, finding alarms). */
export function registerAlarmCounts(app: HttpApp, services: RouteServices): void {
  const { access, history, now } = services;

  app.openapi({ ...counts, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const query = c.req.valid('query');
    const { by, timeZone, before, after } = query;
    const toMs = before ?? now();
    // `after` is exclusive, and times have whole milliseconds.
    const fromMs = after === undefined ? toMs - DEFAULT_SPAN_MS[by] : after + 1;
    const starts = calendarBounds(timeZone, by, fromMs, toMs, MAX_BUCKETS);
    if (starts === undefined) {
      const message = `must be at most ${MAX_BUCKETS} of \`by\` before the end`;
      throw invalidRequest([{ path: 'after', message }]);
    }
    if (starts.length < 2) return c.json({ buckets: [] }, 200);
    const bounds = [fromMs, ...starts.slice(1, -1), toMs];
    const filter = alarmFilter(c, [c.req.valid('param').locationId], query);
    const counted = await history.counts(filter, bounds);
    const buckets = counted.map((counts, at) => ({ start: formatTime(starts[at] ?? 0), counts }));
    return c.json({ buckets }, 200);
  });
}
