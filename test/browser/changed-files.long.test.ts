import { mkdtempSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import { chooseFile, openEngineSession, outcomeOf, startUpload } from './engines/session.js'

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

interface Change {
  readonly change: string
  readonly apply: (file: string, size: number) => void
  /** In MB. */
  readonly size: number
  /** PUTs that are on their way when the file changes. */
  readonly puts: number
}

const overwrite: Change['apply'] = (file, size) =>
  writeFileSync(file, Buffer.alloc(size, 'b'), { flag: 'r+' })
const LATER_PARTS = { size: 48, puts: 4 }

await describeInEngines('a file on disk that changes while it is sent', (engine) => {
  it.for<Change>([
    { change: 'is overwritten in place', apply: overwrite, size: 15, puts: 1 },
    { change: 'is overwritten in place', apply: overwrite, size: 17, puts: 3 },
    { change: 'is overwritten in place', apply: overwrite, ...LATER_PARTS },
    { change: 'grows', apply: (file) => writeFileSync(file, 'b', { flag: 'a' }), ...LATER_PARTS },
    { change: 'is cut', apply: (file) => truncateSync(file, 1_000_000), ...LATER_PARTS },
    { change: 'is removed', apply: (file) => unlinkSync(file), ...LATER_PARTS },
  ])(
    'is reported, or stored as it was, if it $change: $size MB after $puts PUTs',
    async ({ apply, size: megabytes, puts }, test) => {
      const size = megabytes * 1_000_000
      const folder = mkdtempSync(join(tmpdir(), 'svc-db-changing-'))
      test.onTestFinished(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'log.bin')
      writeFileSync(file, Buffer.alloc(size, 'a'))
      const { server, tab } = await openEngineSession(engine(), test)
      await chooseFile(tab, file)
      const held: (() => void)[] = []
      server.lie((line, _call, _res, serve) => (line === 'PUT' ? held.push(serve) : serve()))
      await startUpload(tab, {})
      await until(() => held.length === puts)
      apply(file, size)
      server.lie(null)
      for (const serve of held) serve()
      const { result, key } = await outcomeOf(tab)
      if (result === 'active') {
        expect((await server.bytesOf(key!)).equals(Buffer.alloc(size, 'a'))).toBe(true)
      } else {
        expect(result).toBe('FILE_UNREADABLE')
        expect(await server.usage()).toEqual(NOTHING_USED)
      }
    },
  )
})
