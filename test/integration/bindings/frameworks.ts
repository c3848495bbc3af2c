import { expressFrameworks } from './express-app.js'
import { fastifyFrameworks } from './fastify-app.js'
import type { Framework } from './framework.js'
import { honoFrameworks } from './hono-app.js'
import { koaFrameworks } from './koa-app.js'

/** Every framework whose binding gets Node's messages, in all supported versions. */
export const frameworks: readonly Framework[] = [...expressFrameworks, ...koaFrameworks, ...fastifyFrameworks]

/** Every framework with a binding. Hono has its own requests and responses, which its adapters create. */
export const everyFramework: readonly Framework[] = [...frameworks, ...honoFrameworks]
