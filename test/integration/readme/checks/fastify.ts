import type { SnippetChecks } from '../programs.js'
import { servesWithSession } from './session-server.js'

export const fastifyChecks: SnippetChecks = {
  'docs/fastify.md#fastify-server.ts': servesWithSession,
}
