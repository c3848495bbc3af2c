import { describe, inject, it } from 'vitest'
import { postgresPrograms } from '../../servers/private-cluster.js'

/** Tests with clusters of their own, or a visible skip where there are no programs to start one. */
export function describePrivatePostgres(title: string, body: (programs: string) => void): void {
  const programs = postgresPrograms()
  if (programs !== null) {
    describe(title, () => body(programs))
    return
  }
  const server = inject('postgres')
  const reason =
    server.url === null
      ? server.reason
      : `${server.from} names a server that tests may not kill; install PostgreSQL`
  console.warn(`Skipped: ${title}. ${reason}`)
  describe.skip(`${title} (${reason})`, () => {
    it('needs the programs of PostgreSQL', () => {})
  })
}
