import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { streamed, type BodySeen } from './body-echo.js'

/** The body parsers of a framework. */
export interface ParserBench {
  readonly parsers: readonly string[]
  /** What the library gets by content type and parser; `null`: the stream. */
  readonly expectations: Readonly<
    Record<string, { readonly body: string; readonly seen: Readonly<Record<string, BodySeen | null>> }>
  >
  /** Serves `reading` behind a parser until the end of the test. Resolves to its URL. */
  readonly serve: (parser: string) => Promise<string>
}

export function describeParsedBodies({ parsers, expectations, serve }: ParserBench): void {
  const table = Object.entries(expectations).flatMap(([type, { body, seen }]) =>
    Object.entries(seen).map(([parser, what]) => ({ type, body, parser, expected: what ?? streamed(body) })),
  )

  it.each(table)(
    'is passed to the library: $type after $parser',
    async ({ type, body, parser, expected }) => {
      const url = await serve(parser)
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
      expect(await response.json()).toEqual(expected)
    },
  )

  it.each(parsers)('is an empty stream after %s if it is empty', async (parser) => {
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

  it.each(parsers)('is an empty stream after %s if there is none', async (parser) => {
    expect(await (await fetch(await serve(parser))).json()).toEqual(streamed(''))
  })
}
