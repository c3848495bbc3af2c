import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { S3ServerCore, StorageObjectStore } from '@svc/db'
import { deliverEvents } from '@svc/db'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { until } from '../../until.js'
import { clientOf } from './checks/app-client.js'
import { run } from './programs.js'
import { buildPrograms, closeWorkspace, openWorkspace, writeSnippets } from './snippets.js'

const CLAMD = '/usr/sbin/clamd'

/** The test file of the anti-virus industry, in two pieces, so that no scanner finds it in this repository. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('')

const MIB = 1024 ** 2

/** Starts clamd with a database of one signature, and for files of at most 1 MiB. */
async function startClamd(
  folder: string,
): Promise<{ readonly port: number; readonly process: ChildProcess }> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  const signature = `Eicar-Test:0:*:${Buffer.from(EICAR).toString('hex')}\n`
  writeFileSync(join(folder, 'test.ndb'), signature)
  const settings = [
    ...[`DatabaseDirectory ${folder}`, `TCPSocket ${port}`, 'TCPAddr 127.0.0.1', 'Foreground yes'],
    ...['User root', 'StreamMaxLength 1M', 'ConcurrentDatabaseReload no'],
  ]
  const file = join(folder, 'clamd.conf')
  writeFileSync(file, `${settings.join('\n')}\n`)
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', CLAMD, '-c', file], { stdio: 'ignore' })
  return { port, process: child }
}

interface CheckedProgram {
  readonly client: StorageObjectStore
  readonly s3: S3ServerCore
}

const title = existsSync(CLAMD) ? 'clamd' : 'clamd (apt-get install clamav-daemon)'

describe.skipIf(!existsSync(CLAMD))(title, () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-clamd-'))
  const workspace = openWorkspace()
  let clamd: Awaited<ReturnType<typeof startClamd>>
  let program: CheckedProgram
  let api: ReturnType<typeof clientOf>

  beforeAll(async () => {
    clamd = await startClamd(folder)
    vi.stubEnv('CLAMD_HOST', '127.0.0.1')
    vi.stubEnv('CLAMD_PORT', String(clamd.port))
    const snippets = writeSnippets(workspace).filter(
      ({ id }) => id === 'docs/virus-scanning.md#scanned-uploads.ts',
    )
    await buildPrograms(workspace, snippets)
    program = await run<CheckedProgram>(snippets[0]!.program)
    api = clientOf(program, 'ann')
  })

  afterAll(() => {
    clamd.process.kill('SIGKILL')
    vi.unstubAllEnvs()
    closeWorkspace(workspace)
    rmSync(folder, { recursive: true, force: true })
  })

  /** Uploads a file, and delivers its event until there is a verdict. */
  async function verdictOn(...parts: BlobPart[]) {
    const { id, checking } = await api.upload(new File(parts, 'file.txt', { type: 'text/plain' }))
    expect(checking).toBe(true)
    await until(async () => {
      await deliverEvents(program.s3)
      return (await program.client.listArrived()).length === 0
    })
    return (await program.client.findById({ id }))?.status ?? 'rejected'
  }

  it('accepts a clean file, once it runs', async () => {
    expect(await verdictOn('hello')).toBe('active')
    expect(await verdictOn(new Uint8Array(MIB - 1))).toBe('active')
  })

  it("rejects EICAR's test file, also at the end of a large one", async () => {
    expect(await verdictOn(EICAR)).toBe('rejected')
    expect(await verdictOn(new Uint8Array(MIB - 1000), EICAR)).toBe('rejected')
  })

  it('can not scan a file above its limit, which the handler rejects', async () => {
    expect(await verdictOn(new Uint8Array(3 * MIB))).toBe('rejected')
  })
})
