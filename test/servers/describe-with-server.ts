import { describe, inject, it } from 'vitest'
import type { SharedServer } from './global-setup.js'

/** Registers tests that use a shared server. If there is none, registers a visible skip. */
export function describeWithServer(name: SharedServer, title: string, body: (url: string) => void): void {
  const server = inject(name)
  if (server.url === null) return describeSkipped(title, server.reason)
  const { url } = server
  describe(title, () => body(url))
}

/** Registers a skipped suite whose title states the reason. */
export function describeSkipped(title: string, reason: string): void {
  describe.skip(`${title} (${reason})`, () => {
    it('needs a server', () => {})
  })
}
