import { mkdtempSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import { chooseFile, openEngineSession, outcomeOf, settle, startUpload } from './engines/session.js'

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

/** In MB. */
const LATER_PARTS = 48

type Change = (file: string, size: number) => void

const overwrite: Change = (file, size) => writeFileSync(file, Buffer.alloc(size, 'b'), { flag: 'r+' })

await describeInEngines('a file on disk that changes while it is sent', (engine) => {
  it.for<[change: string, megabytes: number, puts: number, apply: Change]>([
    ['is overwritten in place', 15, 1, overwrite],
    ['is overwritten in place', 17, 3, overwrite],
    ['is overwritten in place', LATER_PARTS, 4, overwrite],
    ['grows', LATER_PARTS, 4, (file) => writeFileSync(file, 'b', { flag: 'a' })],
    ['is cut', LATER_PARTS, 4, (file) => truncateSync(file, 1_000_000)],
    ['is removed', LATER_PARTS, 4, (file) => unlinkSync(file)],
  ])(
    'is reported, or stored as it was, if it %s: %i MB after %i PUTs',
    async ([, megabytes, puts, apply], test) => {
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
        // On a busy machine, the abort can be lost.
        await settle(tab)
        expect(await server.usage()).toEqual(NOTHING_USED)
      }
    },
  )

  it.for([1, LATER_PARTS])(
    'is reported if it was removed before it is sent: %i MB',
    async (megabytes, test) => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-db-changing-'))
      test.onTestFinished(() => rmSync(folder, { recursive: true }))
      const file = join(folder, 'log.bin')
      writeFileSync(file, Buffer.alloc(megabytes * 1_000_000, 'a'))
      const { server, tab } = await openEngineSession(engine(), test)
      await chooseFile(tab, file)
      unlinkSync(file)
      await startUpload(tab, {})
      expect(await outcomeOf(tab)).toMatchObject({ result: 'FILE_UNREADABLE' })
      expect(server.toBucket).toEqual([])
    },
  )
})
