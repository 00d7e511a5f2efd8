FROM node:24-slim AS build
WORKDIR /app
# Unset: npm's own registry, as is usual.
ARG NPM_CONFIG_REGISTRY
COPY package.json package-lock.json ./
# Without the development packages, and without the optional ones: those bring an embedded PostgreSQL.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
COPY LICENSE ./
COPY bin ./bin
COPY docs ./docs
COPY deploy/analyst-limits.sql ./deploy/analyst-limits.sql
COPY migrations ./migrations
COPY sandbox ./sandbox
COPY src ./src
# "farewatch --version" prints it.
ARG COMMIT
RUN echo "$COMMIT" >commit
# Whatever the umask of the one who checked it out.
RUN chmod -R a+rX,go-w /app

FROM node:24-slim
ENV NODE_ENV=production \
    # Loopback inside a container reaches nobody.
    API_HOST=0.0.0.0 \
    ADMIN_HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/package.json /app/commit /app/LICENSE ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/docs ./docs
COPY --from=build /app/deploy ./deploy
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/sandbox ./sandbox
COPY --from=build /app/src ./src
RUN ln -s /app/bin/farewatch /usr/local/bin/farewatch
# Nothing below /app is theirs to change, and nothing is written anywhere else.
USER node
ARG COMMIT
LABEL org.opencontainers.image.title="farewatch" \
      org.opencontainers.image.description="Watches flight routes and fares for resellers: history, changes and metrics." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.revision="$COMMIT"
EXPOSE 8080 9091
# Ready, not only alive: with plain containers "healthy" decides who may start next, not who is killed.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT || 9091}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["farewatch"]
CMD ["--help"]
