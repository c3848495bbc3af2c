import { mkdtempSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../until.js'
import { describeInEngines } from './engines/engines.js'
import { chooseFile, openEngineSession, outcomeOf, startUpload } from './engines/session.js'

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
/** Six parts, of which two are read after the change. */
const SIZE = 48_000_000

await describeInEngines('a file on disk that changes while it is sent in parts', (engine) => {
  it.for<[string, (file: string) => void]>([
    ['is overwritten in place', (file) => writeFileSync(file, Buffer.alloc(SIZE, 'b'), { flag: 'r+' })],
    ['grows', (file) => writeFileSync(file, Buffer.alloc(1_000_000, 'b'), { flag: 'a' })],
    ['is cut', (file) => truncateSync(file, 1_000_000)],
    ['is removed', (file) => unlinkSync(file)],
  ])('is reported, or stored as it was, when it %s', async ([, change]) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-changing-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'log.bin')
    writeFileSync(file, Buffer.alloc(SIZE, 'a'))
    const { server, tab } = await openEngineSession(engine())
    await chooseFile(tab, file)
    const held: (() => void)[] = []
    server.lie((line, _call, _res, serve) => (line === 'PUT' ? held.push(serve) : serve()))
    await startUpload(tab, {})
    await until(() => held.length === 4)
    change(file)
    server.lie(null)
    for (const serve of held) serve()
    const { result, key } = await outcomeOf(tab)
    if (result === 'active') {
      expect((await server.bytesOf(key!)).equals(Buffer.alloc(SIZE, 'a'))).toBe(true)
    } else {
      expect(result).toBe('FILE_UNREADABLE')
      expect(await server.usage()).toEqual(NOTHING_USED)
    }
  })
})
