# Build:  docker build -t care-home-gateway .
# Run:    docker compose up -d    (compose.yaml; docs/operate/install.md, As a container)
# Buildah and Podman keep the health check with --format docker only.
FROM node:24-bookworm-slim AS build
WORKDIR /opt/care-home-gateway
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build

FROM node:24-bookworm-slim
ARG VERSION=0.2.0
ARG REVISION=
LABEL org.opencontainers.image.title="care-home-gateway" \
  org.opencontainers.image.description="Forwards every alarm of a care home's sensors to its nurse-call systems, and loses none" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim"
# The embedded store. The gateway runs it itself; no service is started.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates redis-server \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 10001 --home-dir /var/lib/care-home-gateway --shell /usr/sbin/nologin \
    care-home-gateway \
  && install -d -m 0700 -o care-home-gateway -g care-home-gateway /var/lib/care-home-gateway
WORKDIR /opt/care-home-gateway
COPY --from=build /opt/care-home-gateway/package.json ./
COPY --from=build /opt/care-home-gateway/dist ./dist
COPY config ./config

# Plaintext MQTT and HTTP are bound to the loopback of the container, where nobody else reaches them. With a
# certificate (GATEWAY_TLS_CERT_FILE, GATEWAY_TLS_KEY_FILE) 8883 and 8443 are bound to every address.
ENV NODE_ENV=production \
  GATEWAY_DATA_DIR=/var/lib/care-home-gateway

USER care-home-gateway
VOLUME /var/lib/care-home-gateway
EXPOSE 8883 8443
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.GATEWAY_HTTP_PORT ?? 8080}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The gateway stops within 10 s of SIGTERM; stop with: docker stop --time 15
STOPSIGNAL SIGTERM
CMD ["node", "--max-semi-space-size=8", "dist/main.js"]
