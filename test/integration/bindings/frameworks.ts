import { expressFrameworks } from './express-app.js'
import type { Framework } from './framework.js'
import { koaFrameworks } from './koa-app.js'

/** Every framework with a binding, in all supported versions. */
export const frameworks: readonly Framework[] = [...expressFrameworks, ...koaFrameworks]
