import { expressFrameworks } from './express-app.js'
import type { Framework } from './framework.js'
import { koaFrameworks } from './koa-app.js'

/** Every framework that has a binding, in each version that it fits. */
export const frameworks: readonly Framework[] = [...expressFrameworks, ...koaFrameworks]
