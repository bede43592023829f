import { OpenAPIHono } from '@hono/zod-openapi';
import { isLoopbackAddress } from '../domain/addresses.js';
import { FailedLogins } from '../site/access/failed-logins.js';
import { Access } from './access.js';
import { authentication, deviceAuthentication, optionalAuthentication } from './authentication.js';
import { crossOrigin, strictTransport } from './browsers.js';
import type { HttpDependencies, RouteServices } from './dependencies.js';
import type { HttpApp, HttpEnv } from './http-env.js';
import { jsonBody } from './json-body.js';
import { PageCursors } from './page-cursor.js';
import { errorResponder, requestContext } from './request-context.js';
import { registerAccessTokens } from './routes/access-tokens.js';
import { registerAlarmCounts } from './routes/alarms/alarm-counts.js';
import { registerAlarmStates } from './routes/alarms/alarm-states.js';
import { registerAlarms } from './routes/alarms/alarms.js';
import { registerDeliveries } from './routes/alarms/deliveries.js';
import { registerTestAlarms } from './routes/alarms/test-alarms.js';
import { registerAudit } from './routes/audit.js';
import { registerBridges } from './routes/bridges.js';
import { registerConnections } from './routes/connections.js';
import { registerCustomData } from './routes/custom-data.js';
import { registerDevices } from './routes/devices.js';
import { registerDrills } from './routes/drills.js';
import { registerEvents } from './routes/events.js';
import { registerFaults } from './routes/faults.js';
import { registerFootageFiles } from './routes/footage-files.js';
import { registerFootageUploads } from './routes/footage-uploads.js';
import { registerGroups } from './routes/groups.js';
import { registerHealth } from './routes/health.js';
import { registerLocations } from './routes/locations.js';
import { registerMetrics } from './routes/metrics.js';
import { registerMoves } from './routes/moves.js';
import { registerOutputs } from './routes/outputs.js';
import { registerDocuments, registerPages } from './routes/pages.js';
import { registerRejected } from './routes/rejected.js';
import { registerRooms } from './routes/rooms.js';
import { registerSupervision } from './routes/supervision.js';
import { registerWebSocket } from './routes/web-socket.js';
import { knownRoute, wellFormedRequest } from './routing.js';
import { refuseUnknownParameters, rejectInvalid } from './validation.js';

/** A script with an outdated token sends dozens of requests before somebody fixes it. */
const FREE_FAILURES = 100;

/**
 * Builds the HTTP side of the gateway.
 *
 * The order of the layers matters: routes registered below `authentication` need an access token, and
 * routes above `refuseUnknownParameters` have their own rules for the query.
 */
export function createHttpApp(dependencies: HttpDependencies): HttpApp {
  const { denials, health, log, maxBodyBytes, model, elapsed, version } = dependencies;
  const app: HttpApp = new OpenAPIHono<HttpEnv>({ defaultHook: rejectInvalid });
  app.onError(errorResponder(log, denials));
  app.use(requestContext(dependencies));
  app.use(strictTransport(dependencies.publicUrl));
  app.use(crossOrigin(dependencies.allowedOrigins));
  app.use(wellFormedRequest());
  app.use(knownRoute(app));

  // A link to a page may have any query, and signed URLs have a signature.
  registerPages(app, dependencies.pages);
  if (dependencies.footageFiles !== undefined) {
    registerFootageFiles(app, dependencies.footageFiles, model, log);
  }
  registerWebSocket(app);
  refuseUnknownParameters(app);

  registerDocuments(app, dependencies.pages);

  const isBehindProxy = dependencies.publicUrl !== undefined;
  const failedLogins = new FailedLogins(FREE_FAILURES, dependencies.watch, elapsed);
  const authenticators = { ...dependencies, failedLogins };
  const authenticate = authentication(authenticators);
  const access = new Access(model);
  const authenticateIfPossible = optionalAuthentication(authenticators);
  registerHealth(app, { health, version, access, authenticateIfPossible });
  registerMetrics(app, {
    metrics: dependencies.metrics,
    isOpen: dependencies.openMetrics,
    // Behind a proxy, requests from this machine may come from anywhere.
    isTrusted: isBehindProxy ? () => false : isLoopbackAddress,
    guards: [authenticate, access.admin()],
  });
  const readsJson = jsonBody(maxBodyBytes);
  const readsOptionalJson = jsonBody(maxBodyBytes, '{}');
  const authenticateDevice = deviceAuthentication(authenticators);
  registerFootageUploads(app, { ...dependencies, readsJson, authenticateDevice });
  app.use(authenticate);

  const services: RouteServices = {
    ...dependencies,
    access,
    cursors: new PageCursors(dependencies.cursorKey),
    readsJson,
    readsOptionalJson,
  };
  registerLocations(app, services);
  registerGroups(app, services);
  registerRooms(app, services);
  registerDevices(app, services);
  registerMoves(app, services);
  registerCustomData(app, services);
  registerAlarms(app, services);
  registerAlarmCounts(app, services);
  registerAlarmStates(app, services);
  registerDeliveries(app, services);
  registerSupervision(app, services);
  registerDrills(app, services);
  registerTestAlarms(app, services);
  registerRejected(app, services);
  registerAccessTokens(app, services);
  registerAudit(app, services);
  registerBridges(app, services);
  registerOutputs(app, services);
  registerFaults(app, services);
  registerConnections(app, services);
  registerEvents(app, services);
  return app;
}
