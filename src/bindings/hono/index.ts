export type { Served } from '../node/serve.js'
export { honoBinding, type HonoMiddleware } from './hono-binding.js'
export { fetchRequest, honoContext, type IncomingHonoContext } from './hono-context.js'
