export type { Served } from '../node/serve.js'
export { koaBinding, type KoaMiddleware } from './koa-binding.js'
export { fetchRequest, koaContext, type IncomingKoaContext } from './koa-context.js'
