import { expressFramework } from './express-app.js'
import { fastifyFramework } from './fastify-app.js'
import type { Framework } from './framework.js'
import { honoFramework } from './hono-app.js'
import { koaFramework } from './koa-app.js'

/**
 * Every framework whose binding gets Node's messages, in its current version. The smoke table in `test/integration/http-table`
 * tests older versions.
 */
export const frameworks: readonly Framework[] = [expressFramework, koaFramework, fastifyFramework]

/** Every framework with a binding. Hono has its own requests and responses, which its adapters create. */
export const everyFramework: readonly Framework[] = [...frameworks, honoFramework]
