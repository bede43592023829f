/** The HTTP interface: its routes, in the frame of every request. */

import { Hono } from 'hono';
import { FailedLogins } from '../site/access/failed-logins.js';
import { Callers } from './caller.js';
import { mountPages } from './files.js';
import { frame, type HttpApp, type HttpEnv } from './frame.js';
import { Rights } from './rights.js';
import { mount, type Routes } from './route.js';
import { alarmStateRoutes } from './routes/alarm-states.js';
import { alarmRoutes } from './routes/alarms.js';
import { auditRoutes } from './routes/audit.js';
import { connectionRoutes } from './routes/connections.js';
import { deviceRoutes } from './routes/devices.js';
import { drillRoutes } from './routes/drills.js';
import { erasingRoutes } from './routes/erasing.js';
import { eventRoutes } from './routes/events.js';
import { footageRoutes } from './routes/footage.js';
import { operationRoutes } from './routes/operation.js';
import { queueRoutes } from './routes/queues.js';
import { siteRoutes } from './routes/site.js';
import { tokenRoutes } from './routes/tokens.js';
import type { HttpServices } from './services.js';

/** A script with an outdated token sends dozens of requests before somebody fixes it. */
const FREE_FAILURES = 100;

/** Every route, by its operation id. */
export function allRoutes(services: HttpServices): Routes {
  const rights = new Rights(services.model);
  return {
    ...siteRoutes(services, rights),
    ...deviceRoutes(services, rights),
    ...alarmRoutes(services, rights),
    ...alarmStateRoutes(services, rights),
    ...drillRoutes(services, rights),
    ...erasingRoutes(services, rights),
    ...eventRoutes(services),
    ...footageRoutes(services),
    ...tokenRoutes(services),
    ...auditRoutes(services),
    ...queueRoutes(services),
    ...connectionRoutes(services),
    ...operationRoutes(services, rights),
  };
}

/** Builds the HTTP side of the gateway. */
export function createHttpApp(services: HttpServices): HttpApp {
  const { watch, elapsed, publicUrl, maxBodyBytes, files, footageOrigins } = services;
  const app = new Hono<HttpEnv>();
  frame(app, services);
  const failedLogins = new FailedLogins(FREE_FAILURES, watch, elapsed);
  const callers = new Callers(services, failedLogins);
  mount(app, allRoutes(services), { callers, maxBodyBytes, publicUrl });
  mountPages(app, files, footageOrigins);
  return app;
}
