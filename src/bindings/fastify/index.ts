export type { Served } from '../node/serve.js'
export { fastifyBinding, type FastifyInstanceForBinding, type FastifyPlugin } from './fastify-binding.js'
export {
  fastifyRequest,
  fetchRequest,
  type IncomingFastifyReply,
  type IncomingFastifyRequest,
} from './fastify-request.js'
