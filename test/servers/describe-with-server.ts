import { describe, inject, it, type ProvidedContext } from 'vitest'

/** Tests that a server which is shared by all files serves, or a visible skip where there is none. */
export function describeWithServer(
  name: keyof ProvidedContext,
  title: string,
  body: (url: string) => void,
): void {
  const server = inject(name)
  if (server.url === null) return describeSkipped(title, server.reason)
  const { url } = server
  describe(title, () => body(url))
}

/** A skip that says why in the list of tests. */
export function describeSkipped(title: string, reason: string): void {
  describe.skip(`${title} (${reason})`, () => {
    it('needs a server', () => {})
  })
}
