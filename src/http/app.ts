import { OpenAPIHono } from '@hono/zod-openapi';
import { isLoopbackAddress } from '../domain/addresses.js';
import { FailedLogins } from '../site/failed-logins.js';
import { Access } from './access.js';
import { AlarmCursors } from './alarm-cursor.js';
import { AuditCursors } from './audit-cursor.js';
import { authentication } from './authentication.js';
import { Coverage } from './coverage.js';
import type { HttpDependencies } from './dependencies.js';
import { deviceAuthentication } from './device-authentication.js';
import { Existence } from './existence.js';
import type { HttpApp, HttpEnv } from './http-env.js';
import { jsonBody } from './json-body.js';
import { refuseUnknownParameters } from './query-parameters.js';
import { errorResponder, requestContext } from './request-context.js';
import { registerAccessTokens } from './routes/access-tokens.js';
import { registerAlarms } from './routes/alarms.js';
import { registerAsyncApiDocument } from './routes/asyncapi-document.js';
import { registerAudit } from './routes/audit.js';
import { registerBridges } from './routes/bridges.js';
import { registerConnections } from './routes/connections.js';
import { registerCustomData } from './routes/custom-data.js';
import { registerDevices } from './routes/devices.js';
import { registerDocs } from './routes/docs.js';
import { registerFootageFiles } from './routes/footage-files.js';
import { registerFootageUploads } from './routes/footage-uploads.js';
import { registerGroups } from './routes/groups.js';
import { registerHealth } from './routes/health.js';
import { registerLocations } from './routes/locations.js';
import { registerLosses } from './routes/losses.js';
import { registerMetrics } from './routes/metrics.js';
import { registerMoves } from './routes/moves.js';
import { registerOpenApiDocument } from './routes/openapi-document.js';
import { registerRejected } from './routes/rejected.js';
import { registerRooms } from './routes/rooms.js';
import type { RouteServices } from './routes/services.js';
import { registerWebSocket } from './routes/web-socket.js';
import { knownRoute, wellFormedRequest } from './routing.js';
import { rejectInvalid } from './validation.js';

/** A script with an outdated token asks for dozens of things before it is mended. */
const FREE_FAILURES = 100;

/**
 * Builds the HTTP side of the gateway.
 *
 * The order of the layers matters: routes registered below `authentication` need an access token, and
 * routes above `refuseUnknownParameters` have rules of their own for their query.
 */
export function createHttpApp(dependencies: HttpDependencies): HttpApp {
  const {
    accessTokens,
    denials,
    health,
    knownNetworks,
    log,
    maxBodyBytes,
    model,
    now,
    elapsed,
    version,
  } = dependencies;
  const app: HttpApp = new OpenAPIHono<HttpEnv>({ defaultHook: rejectInvalid });
  app.onError(errorResponder(log, denials));
  app.use(requestContext({ knownNetworks, log, now }));
  app.use(wellFormedRequest());
  app.use(knownRoute(app));

  // Files of the docs have a digest in their query, signed URLs a signature.
  registerDocs(app, version);
  if (dependencies.footageFiles !== undefined) {
    registerFootageFiles(app, dependencies.footageFiles, model, log);
  }
  registerWebSocket(app);
  refuseUnknownParameters(app);

  registerHealth(app, health);
  registerOpenApiDocument(app, version, dependencies.publicUrl);
  registerAsyncApiDocument(app, version);

  const isTrusted = dependencies.isTrustedAddress ?? isLoopbackAddress;
  const isBehindProxy = dependencies.publicUrl !== undefined;
  const { watch } = dependencies;
  const counted = { free: FREE_FAILURES, isBehindProxy, watch };
  const failedLogins = new FailedLogins({ ...counted, now: elapsed });
  const authenticate = authentication(accessTokens, failedLogins, denials);
  const coverage = new Coverage(model);
  const existence = new Existence(model);
  const access = new Access(model, coverage, existence);
  registerMetrics(app, {
    metrics: dependencies.metrics,
    isOpen: dependencies.openMetrics,
    // Behind a proxy, requests from this machine may come from anywhere.
    isTrusted: isBehindProxy ? () => false : isTrusted,
    guards: [authenticate, access.admin()],
  });
  const readsJson = jsonBody(maxBodyBytes);
  const { devices } = dependencies;
  const authenticateDevice = deviceAuthentication(devices, failedLogins, denials);
  registerFootageUploads(app, { ...dependencies, readsJson, authenticateDevice });
  app.use(authenticate);

  const services: RouteServices = {
    ...dependencies,
    coverage,
    existence,
    access,
    cursors: new AlarmCursors(dependencies.cursorKey),
    auditCursors: new AuditCursors(dependencies.cursorKey),
    readsJson,
  };
  registerLocations(app, services);
  registerGroups(app, services);
  registerRooms(app, services);
  registerDevices(app, services);
  registerMoves(app, services);
  registerCustomData(app, services);
  registerAlarms(app, services);
  registerRejected(app, services);
  registerAccessTokens(app, services);
  registerAudit(app, services);
  registerBridges(app, services);
  registerLosses(app, services);
  registerConnections(app, services);
  return app;
}
