# Build:  docker build -t care-home-gateway .
# Run:    docker run -v care-home-gateway:/var/lib/care-home-gateway \
#           -p 1883:1883 -p 8080:8080 care-home-gateway
FROM node:24-bookworm-slim AS build
WORKDIR /opt/care-home-gateway
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
# The embedded store. The gateway runs it itself; no service is started.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates redis-server \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --home-dir /var/lib/care-home-gateway --shell /usr/sbin/nologin \
    care-home-gateway \
  && install -d -m 0700 -o care-home-gateway -g care-home-gateway /var/lib/care-home-gateway
WORKDIR /opt/care-home-gateway
COPY --from=build /opt/care-home-gateway/package.json ./
COPY --from=build /opt/care-home-gateway/node_modules ./node_modules
COPY --from=build /opt/care-home-gateway/dist ./dist
COPY config ./config

# Inside a container, loopback would be reachable for nobody: the listeners are bound to every
# address, and so PLAINTEXT MQTT AND HTTP ARE ALLOWED. Which of them other machines reach is decided
# by the ports you publish. For anything but a trusted network mount a certificate, set
# GATEWAY_TLS_CERT_FILE and GATEWAY_TLS_KEY_FILE, and publish 8883 and 8443 only.
ENV NODE_ENV=production \
  GATEWAY_DATA_DIR=/var/lib/care-home-gateway \
  GATEWAY_MQTT_HOST=0.0.0.0 \
  GATEWAY_HTTP_HOST=0.0.0.0 \
  GATEWAY_ALLOW_PLAINTEXT=true

USER care-home-gateway
VOLUME /var/lib/care-home-gateway
EXPOSE 1883 8080 8883 8443
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.GATEWAY_HTTP_PORT ?? 8080}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The gateway stops within 10 s of SIGTERM; stop with: docker stop --time 15
STOPSIGNAL SIGTERM
CMD ["node", "dist/main.js"]
