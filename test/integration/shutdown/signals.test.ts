import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describePostgres } from '../postgres/schemas.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { busyService, ENDED, placeOfService } from './running-service.js'

describePostgres('a service that gets a signal', (url) => {
  let program: BundledWorker
  beforeAll(async () => {
    program = await bundleWorker(fileURLToPath(new URL('./service.ts', import.meta.url)))
  })
  afterAll(() => program.remove())

  it.each([
    ['SIGTERM', ['SIGTERM']],
    ['SIGINT, as from Ctrl+C and from npm', ['SIGINT', 'SIGINT']],
  ] as const)('lets everything end that is in progress: %s', async (_, signals) => {
    const place = await placeOfService(url)
    const service = spawn(process.execPath, [program.file], {
      env: { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', ...place.environment },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const exit = once(service, 'exit')
    const letEnd = await busyService(place)
    const origin = await place.origin()
    for (const signal of signals) service.kill(signal)
    await place.noted('stopping')
    await expect(fetch(origin)).rejects.toThrow()
    await letEnd()
    expect(await exit).toEqual([0, null])
    expect(place.lines()).toEqual(expect.arrayContaining(ENDED))
    expect(place.lines().filter((line) => line.startsWith('failed'))).toEqual([])
    await place.remove()
  })
})
