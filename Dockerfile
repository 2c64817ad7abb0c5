# The server of docs/self-hosting.md: the page and the functions, without Vercel. Node runs the sources and strips their types itself.

FROM node:24.21.0-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-slim
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json vercel.json ./
COPY api ./api
COPY src ./src
COPY dist ./dist
ENV HOST=0.0.0.0 PORT=3000
EXPOSE 3000
USER node
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--import", "./src/build/ts-loader.mjs", "src/service/server/main.ts"]
