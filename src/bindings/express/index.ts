export type { Served } from '../node/serve.js'
export { expressBinding, type ExpressHandler } from './express-binding.js'
export { expressRequest, fetchRequest, type IncomingExpressRequest } from './express-request.js'
