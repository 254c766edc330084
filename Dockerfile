# Builds the command line, then keeps what serving needs: no compiler, no tests, no evaluation data.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY base base
COPY models models
COPY index index
COPY migrations migrations
COPY eval eval
COPY src src
# onnxruntime-node brings the libraries of macOS and Windows too: 220 MB.
RUN npm run build && npm ci --omit=dev && \
    rm -rf node_modules/onnxruntime-node/bin/napi-v*/darwin node_modules/onnxruntime-node/bin/napi-v*/win32

FROM node:22-bookworm-slim
ENV NODE_ENV=production \
    CEPE_HOST=0.0.0.0 \
    CEPE_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/eval/tasks.json eval/tasks.json
COPY --from=build /app/src/http/page src/http/page
COPY --from=build /app/models/reader/checkpoint models/reader/checkpoint
COPY --from=build /app/models/reader/adapters models/reader/adapters
COPY --from=build /app/models/retriever/checkpoint models/retriever/checkpoint
COPY --from=build /app/index/corpus index/corpus
RUN ln -s /app/dist/src/cli.js /usr/local/bin/cepe && mkdir /data && chown node:node /data
USER 1000:1000
VOLUME /data
EXPOSE 8080
# The first start builds the models' graphs and the demo index.
HEALTHCHECK --interval=15s --timeout=10s --start-period=10m \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.CEPE_PORT || process.env.PORT || 8080}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["cepe", "serve"]
