import type { ServerResponse } from 'node:http'

/** Lists, to which a response adds instead of taking the place of what a middleware has set. */
const LISTS: ReadonlySet<string> = new Set(['set-cookie', 'vary'])

/** Sets the headers of a response; others that were set before stay. */
export function setHeaders({ headers }: Response, target: ServerResponse): void {
  for (const [name, value] of headers) {
    const before = LISTS.has(name) ? target.getHeader(name) : undefined
    target.setHeader(name, before === undefined ? value : [before, value].flat().map(String))
  }
}
