import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { streamed, type BodySeen } from './reading-handler.js'

/** The parsers of a framework, by name. */
export interface ParserBench {
  readonly parsers: readonly string[]
  /** For each content type: what the library gets after each parser; `null`: the stream. */
  readonly expectations: Readonly<
    Record<string, { readonly body: string; readonly seen: Readonly<Record<string, BodySeen | null>> }>
  >
  /** Serves `reading` behind a parser until the test is over; resolves to a URL of it. */
  readonly serve: (parser: string) => Promise<string>
}

export function describeParsedBodies({ parsers, expectations, serve }: ParserBench): void {
  const table = Object.entries(expectations).flatMap(([type, { body, seen }]) =>
    Object.entries(seen).map(([parser, what]) => ({ type, body, parser, expected: what ?? streamed(body) })),
  )

  it.each(table)('$type after $parser', async ({ type, body, parser, expected }) => {
    const url = await serve(parser)
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
    expect(await response.json()).toEqual(expected)
  })

  it.each(parsers)('an empty body after %s', async (parser) => {
    const url = await serve(parser)
    const chunked = () =>
      ({ body: Readable.toWeb(Readable.from([])), duplex: 'half' }) as unknown as RequestInit
    for (const type of ['application/json', 'image/png']) {
      for (const init of [{ body: '' }, chunked()]) {
        const response = await fetch(url, { method: 'PUT', headers: { 'content-type': type }, ...init })
        expect(await response.json()).toEqual(streamed(''))
      }
    }
  })

  it.each(parsers)('no body after %s', async (parser) => {
    expect(await (await fetch(await serve(parser))).json()).toEqual(streamed(''))
  })
}
