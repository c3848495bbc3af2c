import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { streamed, type BodySeen } from './body-echo.js'

/** What the library gets behind a body parser: by content type, the body and what it becomes. */
export type ParsedBodies = Readonly<Record<string, readonly [body: string, seen: BodySeen]>>

/** Tests the body parsers of a framework. `serve` serves `reading` behind a parser until the end of the test. */
export function describeParsedBodies<Parser>(
  parsers: Readonly<Record<string, readonly [parser: Parser, bodies: ParsedBodies]>>,
  serve: (parser: Parser) => Promise<string>,
): void {
  it.each(Object.entries(parsers))('is passed to the library after %s', async (_name, [parser, bodies]) => {
    const url = await serve(parser)
    for (const [type, [body, seen]] of Object.entries(bodies)) {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
      expect([type, await response.json()]).toEqual([type, seen])
    }
    // An empty body is a stream, whatever the parser makes of it.
    const chunked = { body: Readable.toWeb(Readable.from([])), duplex: 'half' } as unknown as RequestInit
    for (const init of [{ body: '' }, chunked]) {
      const headers = { 'content-type': 'application/json' }
      expect(await (await fetch(url, { method: 'PUT', headers, ...init })).json()).toEqual(streamed(''))
    }
    expect(await (await fetch(url)).json()).toEqual(streamed(''))
  })
}
