import type { SnippetChecks } from '../programs.js'
import { servesWithSession } from './session-server.js'

export const koaChecks: SnippetChecks = {
  'docs/koa.md#koa-server.ts': servesWithSession,
}
